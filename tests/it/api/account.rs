//! /v1/account, usage and keys

use serde_json::{Value, json};

use crate::support::{Client, TestApp, on_both_engines};

on_both_engines!(
    the_account_is_shown_as_it_is,
    usage_counts_tasks_and_active_keys,
    a_new_key_works_at_once_and_is_shown_once,
    a_revoked_key_dies_at_once_and_for_good,
    keys_of_others_are_not_found,
    a_faulty_key_request_is_refused,
    the_use_of_a_key_is_written_down,
);

async fn the_account_is_shown_as_it_is(app: TestApp) {
    let dev = app.developer().await;
    dev.create_task().await;
    let account = dev.test.get("/v1/account").await.expect(200);
    assert_eq!(
        account,
        json!({
            "id": dev.account_id, "email": account["email"], "name": "Ada", "company": null,
            "tier": "growth", "status": "active", "webhook_url": null, "webhook_events": [],
            "tasks_this_month": 1, "created_at": TestApp::NOON, "updated_at": TestApp::NOON,
        })
    );
    let live = dev.live.get("/v1/account").await.expect(200);
    assert_eq!(live["tasks_this_month"], 0);
}

async fn usage_counts_tasks_and_active_keys(app: TestApp) {
    let dev = app.developer().await;
    dev.create_task().await;
    let usage = dev.test.get("/v1/account/usage").await.expect(200);
    let expected = json!({"tier": "growth", "tasks_this_month": 1, "tasks_limit": 1000,
        "api_keys_count": 2});
    assert_eq!(usage, expected);
    let new = json!({"name": "CI", "environment": "test"});
    let key = dev.test.post("/v1/account/keys", &new).await.expect(201);
    let count =
        async || dev.test.get("/v1/account/usage").await.expect(200)["api_keys_count"].clone();
    assert_eq!(count().await, 3);
    let path = format!("/v1/account/keys/{}", key["id"].as_str().unwrap());
    dev.test.delete(&path).await.expect(200);
    assert_eq!(count().await, 2);
}

async fn a_new_key_works_at_once_and_is_shown_once(app: TestApp) {
    let dev = app.developer().await;
    for environment in ["live", "test"] {
        let new = json!({"name": "Nightly", "environment": environment});
        let created = dev.live.post("/v1/account/keys", &new).await.expect(201);
        let fields: Vec<_> = created.as_object().unwrap().keys().collect();
        let expected = [
            "id",
            "name",
            "key",
            "key_prefix",
            "environment",
            "created_at",
        ];
        assert_eq!(fields, expected);
        let key = created["key"].as_str().unwrap();
        assert!(key.starts_with(&format!("svc_{environment}_")));
        assert_eq!(created["key_prefix"], key[..20]);
        Client::new(app.address, Some(key))
            .get("/v1/account")
            .await
            .expect(200);

        let list = dev.live.get("/v1/account/keys").await;
        assert!(!list.text.contains(key));
        let list = list.expect(200);
        assert_eq!(
            list.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["data"]
        );
        let keys = list["data"].as_array().unwrap();
        let listed = keys.iter().find(|key| key["id"] == created["id"]).unwrap();
        let fields: Vec<_> = listed.as_object().unwrap().keys().collect();
        let expected = [
            "id",
            "name",
            "key_prefix",
            "environment",
            "last_used_at",
            "revoked_at",
            "created_at",
        ];
        assert_eq!(fields, expected);
        let stored = app.database.column("SELECT key_hash FROM api_keys").await;
        assert!(!stored.iter().any(|hash| hash.contains(&key[9..])));
    }
}

async fn a_revoked_key_dies_at_once_and_for_good(app: TestApp) {
    let dev = app.developer().await;
    let new = json!({"name": "Lost", "environment": "test"});
    let created = dev.test.post("/v1/account/keys", &new).await.expect(201);
    let lost = Client::new(app.address, created["key"].as_str());
    lost.get("/v1/account").await.expect(200);
    let path = format!("/v1/account/keys/{}", created["id"].as_str().unwrap());
    let revoked = dev.test.delete(&path).await.expect(200);
    let expected = json!({"id": created["id"], "name": "Lost", "revoked_at": TestApp::NOON});
    assert_eq!(revoked, expected);
    lost.get("/v1/account")
        .await
        .expect_error(401, "UNAUTHORIZED");
    app.set_time("2025-11-15T13:00:00.000Z");
    assert_eq!(dev.test.delete(&path).await.expect(200), expected);
    let list = dev.test.get("/v1/account/keys").await.expect(200);
    let listed = list["data"].as_array().unwrap();
    let listed = listed
        .iter()
        .find(|key| key["id"] == created["id"])
        .unwrap();
    assert_eq!(listed["revoked_at"], TestApp::NOON);
}

async fn keys_of_others_are_not_found(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let list = other.test.get("/v1/account/keys").await.expect(200);
    let id = list["data"][0]["id"].as_str().unwrap();
    for id in [id, "nope", "%00", "00000000000000000000000000000000"] {
        let reply = dev.test.delete(&format!("/v1/account/keys/{id}")).await;
        reply.expect_error(404, "KEY_NOT_FOUND");
    }
    other.test.get("/v1/account").await.expect(200);
}

async fn a_faulty_key_request_is_refused(app: TestApp) {
    let dev = app.developer().await;
    for (body, fields) in [
        (json!({}), vec!["name", "environment"]),
        (json!({"name": " ", "environment": "test"}), vec!["name"]),
        (
            json!({"name": "x", "environment": "staging"}),
            vec!["environment"],
        ),
        (
            json!({"name": "x", "environment": "test", "key": "mine"}),
            vec!["key"],
        ),
    ] {
        let reply = dev.test.post("/v1/account/keys", &body).await;
        assert_eq!(reply.faulty_fields(), fields);
    }
}

async fn the_use_of_a_key_is_written_down(app: TestApp) {
    let dev = app.developer().await;
    app.set_time("2025-11-15T13:30:00.000Z");
    dev.live.get("/v1/account").await.expect(200);
    app.set_time("2025-11-15T14:00:00.000Z");
    let list = dev.test.get("/v1/account/keys").await.expect(200);
    let used = |environment: &str| -> Value {
        let keys = list["data"].as_array().unwrap();
        let key = keys.iter().find(|key| key["environment"] == environment);
        key.unwrap()["last_used_at"].clone()
    };
    assert_eq!(used("live"), "2025-11-15T13:30:00.000Z");
    assert_eq!(used("test"), "2025-11-15T14:00:00.000Z");
}
