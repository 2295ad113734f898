//! PUT, GET and DELETE /v1/account/webhook, and new secrets

use serde_json::{Value, json};

use crate::support::{Reply, TestApp, on_both_engines};

on_both_engines!(
    a_webhook_is_set_seen_and_removed,
    the_secret_stays_over_changes,
    what_no_webhook_may_be_is_refused,
    a_rotated_secret_is_told_once_more_to_the_same_asker,
    without_a_webhook_there_is_nothing_to_test,
);

async fn put(client: &crate::support::Client, body: Value) -> Reply {
    client
        .send("PUT", "/v1/account/webhook", &[], body.to_string())
        .await
}

async fn a_webhook_is_set_seen_and_removed(app: TestApp) {
    let dev = app.developer().await;
    let url = "https://127.0.0.1:9/hook";
    let set = put(&dev.test, json!({"url": url})).await.expect(200);
    assert_eq!(set["webhook_url"], url);
    assert_eq!(set["webhook_events"], json!([]));
    let secret = set["webhook_secret"].as_str().unwrap();
    assert!(
        secret.starts_with("whsec_") && secret.len() == 50,
        "{secret}"
    );
    assert_eq!(set.as_object().unwrap().len(), 3);
    // One for the account, whichever key looks.
    let account = dev.live.get("/v1/account").await.expect(200);
    assert_eq!(account["webhook_url"], url);
    let events = json!(["worker.verified", "task.completed", "task.completed"]);
    let set = put(&dev.live, json!({"url": url, "events": events}))
        .await
        .expect(200);
    assert_eq!(
        set["webhook_events"],
        json!(["task.completed", "worker.verified"])
    );
    let seen = dev.test.get("/v1/account/webhook").await.expect(200);
    assert_eq!(
        (&seen["enabled"], &seen["webhook_url"]),
        (&json!(true), &json!(url))
    );
    assert!(seen.get("webhook_secret").is_none());
    let account = dev.test.get("/v1/account").await.expect(200);
    assert_eq!(account["webhook_events"], set["webhook_events"]);
    for _ in 0..2 {
        let gone = dev.test.delete("/v1/account/webhook").await.expect(200);
        assert_eq!(
            (&gone["webhook_url"], &gone["enabled"]),
            (&json!(null), &json!(false))
        );
    }
    let account = dev.test.get("/v1/account").await.expect(200);
    assert_eq!(account["webhook_url"], json!(null));
    assert_eq!(account["webhook_events"], json!([]));
}

async fn the_secret_stays_over_changes(app: TestApp) {
    let dev = app.developer().await;
    let first = dev.put_webhook("https://127.0.0.1:9/a", json!(null)).await;
    let second = dev
        .put_webhook("https://127.0.0.1:9/b", json!(["task.completed"]))
        .await;
    assert_eq!(first, second);
    let rotate = "/v1/account/webhook/rotate_secret";
    let rotated = dev.test.post(rotate, &json!({})).await.expect(200);
    assert_ne!(rotated["webhook_secret"], json!(first));
    assert_eq!(rotated["webhook_url"], "https://127.0.0.1:9/b");
    let third = dev.put_webhook("https://127.0.0.1:9/b", json!(null)).await;
    assert_eq!(rotated["webhook_secret"], json!(third));
    dev.test.delete("/v1/account/webhook").await.expect(200);
    assert_ne!(
        dev.put_webhook("https://127.0.0.1:9/b", json!(null)).await,
        third
    );
}

async fn what_no_webhook_may_be_is_refused(app: TestApp) {
    let dev = app.developer().await;
    for url in [
        "http://example.com/hook",
        "ftp://example.com",
        "example.com",
        "https://",
        "https://user:password@example.com/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://192.168.1.1",
        "https://[::ffff:10.0.0.1]/",
        "https://[fe80::1]/",
        "https://0x0a000001/",
        "https://167772161/",
        "https://[fd00:ec2::254]/",
        "https://100.64.0.1",
        "https://224.0.0.1",
        "https://0.0.0.0",
        "",
    ] {
        let faulty = put(&dev.test, json!({ "url": url })).await.faulty_fields();
        assert_eq!(faulty, ["url"], "{url}");
    }
    let long = format!("https://example.com/{}", "a".repeat(2_000));
    let everything = json!({"url": long, "events": ["task.eaten"], "secret": "mine"});
    let faulty = put(&dev.test, everything).await.faulty_fields();
    assert_eq!(faulty, ["url", "events[0]", "secret"]);
    assert_eq!(put(&dev.test, json!({})).await.faulty_fields(), ["url"]);
    let account = dev.test.get("/v1/account").await.expect(200);
    assert_eq!(account["webhook_url"], json!(null), "nothing was kept");
    // A name that nobody knows yet may come to be known.
    let unknown = "https://not-yet.invalid/hook";
    put(&dev.test, json!({ "url": unknown })).await.expect(200);
}

async fn a_rotated_secret_is_told_once_more_to_the_same_asker(app: TestApp) {
    let dev = app.developer().await;
    let rotate = "/v1/account/webhook/rotate_secret";
    let none = dev.test.post(rotate, &json!({})).await;
    none.expect_error(409, "WEBHOOK_NOT_CONFIGURED");
    dev.put_webhook("https://127.0.0.1:9/", json!(null)).await;
    let key = [("idempotency-key", "rotate")];
    let first = dev
        .test
        .post_with(rotate, &key, &json!({}))
        .await
        .expect(200);
    let again = dev.test.post_with(rotate, &key, &json!({})).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.expect(200), first);
}

async fn without_a_webhook_there_is_nothing_to_test(app: TestApp) {
    let dev = app.developer().await;
    let test = dev.test.post("/v1/account/webhook/test", &json!({})).await;
    test.expect_error(409, "WEBHOOK_NOT_CONFIGURED");
    let list = dev
        .test
        .get("/v1/account/webhook/deliveries")
        .await
        .expect(200);
    assert_eq!(list["data"], json!([]));
    let id = "0".repeat(32);
    for path in [id.as_str(), "7", "%00"] {
        let path = format!("/v1/account/webhook/deliveries/{path}");
        dev.test
            .get(&path)
            .await
            .expect_error(404, "DELIVERY_NOT_FOUND");
        let redeliver = dev
            .test
            .post(&format!("{path}/redeliver"), &json!({}))
            .await;
        redeliver.expect_error(404, "DELIVERY_NOT_FOUND");
    }
}
