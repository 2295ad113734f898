//! How many keys an account has.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    an_account_has_a_hundred_active_keys_at_most,
    the_list_stays_one_page,
);

const KEYS: &str = "/v1/account/keys";

async fn an_account_has_a_hundred_active_keys_at_most(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let body = |environment| json!({"name": "One of many", "environment": environment});
    let (live, test) = (body("live"), body("test"));
    for _ in 0..8 {
        let replies = join_all((0..12).map(|_| dev.test.post(KEYS, &live))).await;
        assert!(replies.iter().all(|reply| reply.status == 201));
    }
    // Opening the account made two, so two are left, in both environments together.
    let replies = join_all((0..20).map(|n| dev.live.post(KEYS, [&live, &test][n % 2]))).await;
    let (made, refused): (Vec<_>, Vec<_>) =
        replies.into_iter().partition(|reply| reply.status == 201);
    assert_eq!(made.len(), 2);
    for reply in refused {
        let reply = reply.expect_error(409, "TOO_MANY_KEYS");
        assert!(reply.text.contains("100"), "{}", reply.text);
    }
    let usage = dev.test.get("/v1/account/usage").await.expect(200);
    assert_eq!(usage["api_keys_count"], 100);
    let gone = format!("{KEYS}/{}", made[0].body["id"].as_str().unwrap());
    dev.test.delete(&gone).await.expect(200);
    dev.test.post(KEYS, &test).await.expect(201);
    dev.test
        .post(KEYS, &test)
        .await
        .expect_error(409, "TOO_MANY_KEYS");
    other.test.post(KEYS, &test).await.expect(201);
}

async fn the_list_stays_one_page(app: TestApp) {
    let dev = app.developer().await;
    let body = json!({"name": "Short", "environment": "test"});
    for _ in 0..12 {
        let made = join_all((0..10).map(|_| dev.test.post(KEYS, &body))).await;
        let made = made.into_iter().map(|reply| reply.expect(201));
        let paths = made.map(|key| format!("{KEYS}/{}", key["id"].as_str().unwrap()));
        let paths: Vec<_> = paths.collect();
        let gone = join_all(paths.iter().map(|path| dev.test.delete(path))).await;
        assert!(gone.iter().all(|reply| reply.status == 200));
    }
    let list = dev.test.get(KEYS).await.expect(200);
    let keys = list["data"].as_array().unwrap();
    assert_eq!(keys.len(), 102);
    let active = keys
        .iter()
        .filter(|key| key["revoked_at"].is_null())
        .count();
    assert_eq!(active, 2);
    let id = |key: &Value| key["id"].as_str().unwrap().to_owned();
    assert!(keys.is_sorted_by_key(|key| std::cmp::Reverse(id(key))));
}
