//! Idempotency-Key

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{Client, TestApp, on_both_engines, path, storefront};

on_both_engines!(
    the_same_request_gets_the_same_answer_again,
    another_request_under_the_same_key_is_refused,
    a_key_means_something_in_one_account_and_environment_only,
    a_key_is_free_again_after_a_day,
    of_many_equal_requests_one_is_done,
    many_repeats_at_once_all_get_the_answer,
    a_refused_request_leaves_the_key_free,
    a_malformed_key_is_refused,
    a_secret_is_replayed_but_never_stored,
    two_servers_on_one_database_do_it_once,
    what_is_done_meanwhile_elsewhere_is_answered_again,
);

async fn create(client: &Client, key: &str, body: &Value) -> crate::support::Reply {
    client
        .post_with("/v1/tasks", &[("idempotency-key", key)], body)
        .await
}

async fn the_same_request_gets_the_same_answer_again(app: TestApp) {
    let dev = app.developer().await;
    let first = create(&dev.test, "a", &storefront()).await;
    assert!(first.headers.get("idempotent-replayed").is_none());
    app.set_time("2025-11-15T13:00:00.000Z");
    let again = create(&dev.test, "a", &storefront()).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.status, 201);
    assert_eq!(again.text, first.text);
    let quoted = create(&dev.test, "\"a\"", &storefront()).await;
    assert_eq!(quoted.text, first.text);
    // The same JSON in another order and spacing is the same request.
    let shuffled = serde_json::to_string_pretty(&json!({
        "budget_cents": 2500, "location": {"longitude": -73.9595, "latitude": 40.7163,
            "state": "NY", "city": "Brooklyn"},
        "category": "photography",
        "description": "Front of the shop with the opening hours in view.",
        "title": "Photograph a storefront",
    }));
    let headers = [("idempotency-key", "a")];
    let same = dev
        .test
        .send("POST", "/v1/tasks", &headers, shuffled.unwrap())
        .await;
    assert_eq!(same.text, first.text);
    assert_eq!(
        dev.test.get("/v1/tasks").await.expect(200)["meta"]["total"],
        1
    );

    let cancel = format!("{}/cancel", path(&first.body));
    let one = dev
        .test
        .post_with(&cancel, &[("idempotency-key", "c")], &json!({}))
        .await;
    let two = dev
        .test
        .post_with(&cancel, &[("idempotency-key", "c")], &json!({}))
        .await;
    assert_eq!(one.text, two.text);
    assert_eq!(two.expect(200)["status"], "cancelled");
}

async fn another_request_under_the_same_key_is_refused(app: TestApp) {
    let dev = app.developer().await;
    let task = create(&dev.test, "a", &storefront()).await.expect(201);
    let mut other = storefront();
    other["budget_cents"] = 2600.into();
    let reply = create(&dev.test, "a", &other).await;
    reply.expect_error(422, "IDEMPOTENCY_MISMATCH");
    let cancel = format!("{}/cancel", path(&task));
    let reply = dev
        .test
        .post_with(&cancel, &[("idempotency-key", "a")], &json!({}))
        .await;
    reply.expect_error(422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(dev.test.get(&path(&task)).await.expect(200), task);
}

async fn a_key_means_something_in_one_account_and_environment_only(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let mut ids = Vec::new();
    for client in [&dev.test, &dev.live, &other.test] {
        let reply = create(client, "a", &storefront()).await;
        assert!(reply.headers.get("idempotent-replayed").is_none());
        ids.push(reply.expect(201)["id"].clone());
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

async fn a_key_is_free_again_after_a_day(app: TestApp) {
    let dev = app.developer().await;
    let first = create(&dev.test, "a", &storefront()).await.expect(201);
    app.set_time("2025-11-16T11:59:59.999Z");
    let within = create(&dev.test, "a", &storefront()).await.expect(201);
    assert_eq!(within["id"], first["id"]);
    app.set_time("2025-11-16T12:00:00.000Z");
    let after = create(&dev.test, "a", &storefront()).await.expect(201);
    assert_ne!(after["id"], first["id"]);
    let again = create(&dev.test, "a", &storefront()).await.expect(201);
    assert_eq!(again["id"], after["id"]);
}

async fn of_many_equal_requests_one_is_done(app: TestApp) {
    let dev = app.developer().await;
    let body = storefront();
    let replies = join_all((0..30).map(|_| create(&dev.test, "a", &body))).await;
    let mut ids: Vec<_> = Vec::new();
    for reply in replies {
        match reply.status.as_u16() {
            201 => ids.push(reply.body["id"].as_str().unwrap().to_owned()),
            _ => drop(reply.expect_error(409, "IDEMPOTENCY_IN_FLIGHT")),
        }
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(
        dev.test.get("/v1/tasks").await.expect(200)["meta"]["total"],
        1
    );
}

async fn many_repeats_at_once_all_get_the_answer(app: TestApp) {
    let dev = app.developer().await;
    let body = storefront();
    let first = create(&dev.test, "a", &body).await.expect(201);
    let batch = json!({ "tasks": [body, body] });
    let key = [("idempotency-key", "b")];
    let many = || dev.test.post_with("/v1/tasks/batch", &key, &batch);
    let created = many().await.expect(200);
    for reply in join_all((0..30).map(|_| create(&dev.test, "a", &body))).await {
        assert_eq!(reply.expect(201), first);
    }
    for reply in join_all((0..30).map(|_| many())).await {
        assert_eq!(reply.expect(200), created);
    }
}

async fn a_refused_request_leaves_the_key_free(app: TestApp) {
    let dev = app.developer().await;
    let reply = create(&dev.test, "a", &json!({})).await;
    reply.expect_error(400, "VALIDATION_ERROR");
    create(&dev.test, "a", &storefront()).await.expect(201);
    let nowhere = "/v1/tasks/00000000000000000000000000000000/cancel";
    let reply = dev
        .test
        .post_with(nowhere, &[("idempotency-key", "b")], &json!({}))
        .await;
    reply.expect_error(404, "TASK_NOT_FOUND");
    create(&dev.test, "b", &storefront()).await.expect(201);
}

async fn a_malformed_key_is_refused(app: TestApp) {
    let dev = app.developer().await;
    let long = "x".repeat(256);
    for key in ["", "\"\"", long.as_str()] {
        let reply = create(&dev.test, key, &storefront()).await;
        assert_eq!(reply.faulty_fields(), ["Idempotency-Key"], "{key:?}");
    }
}

async fn a_secret_is_replayed_but_never_stored(app: TestApp) {
    let dev = app.developer().await;
    let new = json!({"name": "CI", "environment": "live"});
    let headers = [("idempotency-key", "k")];
    let first = dev.test.post_with("/v1/account/keys", &headers, &new).await;
    let again = dev.test.post_with("/v1/account/keys", &headers, &new).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(first.text, again.text);
    let first = first.expect(201);
    let key = first["key"].as_str().unwrap();
    let stored = app
        .database
        .column("SELECT response_body FROM idempotency_keys")
        .await;
    assert_eq!(stored.len(), 1);
    assert!(!stored[0].contains(key) && !stored[0].contains("svc_live_"));
    // Another key of the account cannot fetch the secret by guessing the Idempotency-Key.
    let other = json!({"name": "Other", "environment": "test"});
    let other = dev.test.post("/v1/account/keys", &other).await.expect(201);
    let other = Client::new(app.address, other["key"].as_str());
    let reply = other.post_with("/v1/account/keys", &headers, &new).await;
    assert!(!reply.text.contains(key));
    reply.expect_error(422, "IDEMPOTENCY_MISMATCH");
}

async fn two_servers_on_one_database_do_it_once(app: TestApp) {
    let second = TestApp::start(&app.database).await;
    let dev = app.developer().await;
    let elsewhere = Client::new(second.address, Some(&dev.test_key));
    let body = storefront();
    for round in 0..10 {
        let key = format!("round {round}");
        let (here, there) = tokio::join!(
            create(&dev.test, &key, &body),
            create(&elsewhere, &key, &body)
        );
        assert_eq!(here.expect(201)["id"], there.expect(201)["id"]);
    }
    assert_eq!(
        dev.test.get("/v1/tasks").await.expect(200)["meta"]["total"],
        10
    );
}

/// Whoever waits for the same request on another server finds the task moved: that is no refusal.
async fn what_is_done_meanwhile_elsewhere_is_answered_again(app: TestApp) {
    let dev = app.developer().await;
    let others = [
        TestApp::start(&app.database).await,
        TestApp::start(&app.database).await,
    ];
    let servers = [&app, &others[0], &others[1]];
    let clients = servers.map(|server| Client::new(server.address, Some(&dev.test_key)));
    for round in 0..12 {
        let task = dev.create_task().await;
        let (cancel, key) = (format!("{}/cancel", path(&task)), format!("round {round}"));
        let headers = [("idempotency-key", key.as_str())];
        let nothing = json!({});
        let requests = clients
            .iter()
            .map(|client| client.post_with(&cancel, &headers, &nothing));
        let replies = join_all(requests).await;
        for reply in replies {
            assert_eq!(reply.expect(200)["status"], "cancelled");
        }
    }
}
