//! Giving a key a mandate, changing it, lifting it.

use serde_json::json;

use super::{Limited, everything, put, refused_by, with};
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    a_key_is_limited_from_the_first_moment,
    a_mandate_is_changed_and_lifted,
    what_was_spent_outlives_every_change,
    contradictions_name_their_fields,
    a_limited_key_manages_nothing,
    a_key_that_is_confined_to_test_is_not_the_last_unlimited_one,
    the_last_unlimited_key_stays,
    pausing_and_expiring_stop_a_key,
    a_key_in_use_is_paused_at_once,
    a_paused_key_uses_up_nothing_of_the_account,
    another_account_finds_no_mandate,
    the_last_refusal_is_shown,
);

async fn a_key_is_limited_from_the_first_moment(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, json!({"permissions": ["read"]})).await;
    agent.client.get("/v1/tasks").await.expect(200);
    let refused = agent
        .create(2_500)
        .await
        .expect_error(403, "PERMISSION_DENIED");
    assert!(refused.text.contains("`create`"), "{}", refused.text);
    let mandate = agent.mandate().await;
    assert_eq!(mandate["permissions"], json!(["read"]));
    assert_eq!(mandate["key_id"], agent.id.as_str());
    assert_eq!(
        dev.live.get(&agent.path()).await.expect(200)["expires_at"],
        mandate["expires_at"]
    );
    // Key objects are as they were.
    let keys = dev.live.get("/v1/account/keys").await.expect(200);
    let listed = keys["data"].as_array().unwrap().iter();
    let listed = listed.clone().find(|key| key["id"] == agent.id.as_str());
    assert!(listed.unwrap().get("mandate").is_none());
}

async fn a_mandate_is_changed_and_lifted(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, json!({"permissions": ["read"]})).await;
    let changed = put(
        &dev.live,
        &agent.path(),
        &with("max_task_cents", json!(3_000)),
    )
    .await;
    let changed = changed.expect(200);
    assert_eq!(changed["version"], 2);
    assert_eq!(changed["max_task_cents"], 3_000);
    agent.create(2_500).await.expect(201);
    refused_by(&agent.create(3_001).await, "max_task_cents");
    dev.live.delete(&agent.path()).await.expect(200);
    agent.create(3_001).await.expect(201);
    let gone = agent.client.get("/v1/mandate").await;
    gone.expect_error(404, "MANDATE_NOT_FOUND");
    let again = dev.live.delete(&agent.path()).await;
    again.expect_error(404, "MANDATE_NOT_FOUND");
    // A key that was never limited takes one too.
    let unlimited = dev.test.get("/v1/mandate").await;
    unlimited.expect_error(404, "MANDATE_NOT_FOUND");
}

async fn what_was_spent_outlives_every_change(app: TestApp) {
    let dev = app.developer().await;
    let limited = |cents| {
        with(
            "spending_limits",
            json!([{"interval": "total", "cents": cents}]),
        )
    };
    let agent = Limited::in_test(&app, &dev, limited(5_000)).await;
    agent.create(2_500).await.expect(201);
    put(&dev.live, &agent.path(), &limited(4_000))
        .await
        .expect(200);
    refused_by(&agent.create(2_500).await, "spending_limits.total");
    dev.live.delete(&agent.path()).await.expect(200);
    put(&dev.live, &agent.path(), &limited(4_000))
        .await
        .expect(200);
    assert_eq!(agent.used("spending_limits.total").await, 2_500);
    agent.create(1_500).await.expect(201);
}

async fn contradictions_name_their_fields(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, everything()).await;
    let limits = |day: i64, month: i64| json!([{"interval": "day", "cents": day}, {"interval": "month", "cents": month}]);
    let cases = [
        (json!({}), "permissions"),
        (json!({"permissions": []}), "permissions"),
        (json!({"permissions": ["read", "keys"]}), "permissions[1]"),
        (with("max_task_cents", json!(-1)), "max_task_cents"),
        (with("max_open_tasks", json!(-1)), "max_open_tasks"),
        (
            with("spending_limits", limits(-5, 5)),
            "spending_limits[0].cents",
        ),
        (with("spending_limits", limits(6, 5)), "spending_limits"),
        (
            with(
                "spending_limits",
                json!([{"interval": "day", "cents": 1}, {"interval": "day", "cents": 1}]),
            ),
            "spending_limits[1].interval",
        ),
        (
            with("spending_limits", json!([{"interval": "week", "cents": 1}])),
            "spending_limits[0].interval",
        ),
        (with("spending_limits", json!([7])), "spending_limits[0]"),
        (
            with("area", json!({"latitude": 40.7, "longitude": -73.9})),
            "area.radius_km",
        ),
        (with("area", json!(7)), "area"),
        (with("states", json!(["New York"])), "states[0]"),
        (with("categories", json!(["plumbing"])), "categories[0]"),
        (
            with("expires_at", json!("2020-01-01T00:00:00Z")),
            "expires_at",
        ),
        (with("unknown", json!(1)), "unknown"),
    ];
    let before = agent.mandate().await;
    let keys = dev.live.get("/v1/account/keys").await.expect(200)["data"].clone();
    for (mandate, field) in cases {
        let refused = put(&dev.live, &agent.path(), &mandate).await;
        let refused = refused.expect_error(400, "VALIDATION_ERROR");
        let details = refused.body["error"]["details"].as_array().unwrap();
        assert_eq!(details.len(), 1, "{mandate}: {}", refused.text);
        assert_eq!(details[0]["field"], field, "{mandate}");
        let new = json!({"name": "Other", "environment": "test", "mandate": mandate});
        let refused = dev.live.post("/v1/account/keys", &new).await;
        let details = &refused.body["error"]["details"];
        assert_eq!(
            details[0]["field"],
            format!("mandate.{field}"),
            "{}",
            refused.text
        );
    }
    let two = json!({"permissions": ["all"], "max_task_cents": 1});
    let refused = put(&dev.live, &agent.path(), &two).await;
    assert_eq!(
        refused.body["error"]["details"].as_array().unwrap().len(),
        2
    );
    assert_eq!(agent.mandate().await["version"], before["version"]);
    assert_eq!(
        dev.live.get("/v1/account/keys").await.expect(200)["data"],
        keys
    );
}

async fn a_limited_key_manages_nothing(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::new(&app, &dev, "live", everything()).await;
    for path in [
        "/v1/account",
        "/v1/account/keys",
        "/v1/account/webhook",
        "/v1/account/payment_method",
        agent.path().as_str(),
    ] {
        let refused = agent.client.get(path).await;
        refused.expect_error(403, "PERMISSION_DENIED");
    }
    let wider = put(&agent.client, &agent.path(), &everything()).await;
    wider.expect_error(403, "PERMISSION_DENIED");
    let lifted = agent.client.delete(&agent.path()).await;
    lifted.expect_error(403, "PERMISSION_DENIED");
    let new = json!({"name": "Mine", "environment": "test"});
    let made = agent.client.post("/v1/account/keys", &new).await;
    made.expect_error(403, "PERMISSION_DENIED");
    assert_eq!(agent.mandate().await["version"], 1);
}

async fn the_last_unlimited_key_stays(app: TestApp) {
    let dev = app.developer().await;
    let keys = dev.live.get("/v1/account/keys").await.expect(200);
    let id = |environment: &str| {
        let mut keys = keys["data"].as_array().unwrap().iter();
        let key = keys.find(|key| key["environment"] == environment);
        key.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let path = |id: &str| format!("/v1/account/keys/{id}/mandate");
    put(&dev.live, &path(&id("test")), &everything())
        .await
        .expect(200);
    let last = put(&dev.live, &path(&id("live")), &everything()).await;
    last.expect_error(409, "LAST_UNLIMITED_KEY");
    Limited::new(&app, &dev, "live", everything()).await;
    // Another live key remains, but it could not make the next one.
    let revoke = format!("/v1/account/keys/{}", id("live"));
    let revoked = dev.live.delete(&revoke).await;
    let refused = revoked.expect_error(409, "LAST_KEY");
    let told = "no key that can manage the account would be left; send";
    assert!(refused.text.contains(told), "{}", refused.text);
}

/// Such a test key could not give the live one back what it may do.
async fn a_key_that_is_confined_to_test_is_not_the_last_unlimited_one(app: TestApp) {
    let dev = app.developer().await;
    let keys = dev.live.get("/v1/account/keys").await.expect(200);
    let mut keys = keys["data"].as_array().unwrap().iter();
    let live = keys.find(|key| key["environment"] == "live").unwrap();
    let path = format!("/v1/account/keys/{}/mandate", live["id"].as_str().unwrap());
    let confined = json!({"test_keys_manage": "test"});
    put(&dev.live, "/v1/account/security", &confined)
        .await
        .expect(200);
    let last = put(&dev.live, &path, &everything()).await;
    last.expect_error(409, "LAST_UNLIMITED_KEY");
}

async fn pausing_and_expiring_stop_a_key(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, with("paused", json!(true))).await;
    let stopped = agent.client.get("/v1/tasks").await;
    stopped.expect_error(403, "MANDATE_PAUSED");
    assert_eq!(agent.mandate().await["paused"], true);
    put(&dev.live, &agent.path(), &everything())
        .await
        .expect(200);
    agent.client.get("/v1/tasks").await.expect(200);
    // In test, time is what the test clock says.
    let ninety_days = json!({"advance_seconds": 90 * 24 * 60 * 60});
    let clock = "/v1/test_helpers/clock";
    dev.test.post(clock, &ninety_days).await.expect(200);
    let expired = agent.client.get("/v1/tasks").await;
    expired.expect_error(403, "MANDATE_EXPIRED");
    agent.mandate().await;
    put(&dev.live, &agent.path(), &everything())
        .await
        .expect(200);
    agent.client.get("/v1/tasks").await.expect(200);
}

async fn a_key_in_use_is_paused_at_once(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, everything()).await;
    for _ in 0..20 {
        for _ in 0..3 {
            agent.client.get("/v1/tasks").await.expect(200);
        }
        let paused = with("paused", json!(true));
        put(&dev.live, &agent.path(), &paused).await.expect(200);
        for _ in 0..3 {
            let stopped = agent.client.get("/v1/tasks").await;
            stopped.expect_error(403, "MANDATE_PAUSED");
        }
        let resumed = put(&dev.live, &agent.path(), &everything()).await;
        resumed.expect(200);
    }
}

/// Without this, the owner would pause a key and still have no requests left.
async fn a_paused_key_uses_up_nothing_of_the_account(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, everything()).await;
    let listed = agent.client.get("/v1/tasks").await;
    // Limited keys leave a quarter.
    assert_eq!(listed.header("ratelimit-policy"), "\"default\";q=2250;w=60");
    let paused = with("paused", json!(true));
    put(&dev.live, &agent.path(), &paused).await.expect(200);
    let stopped = agent.client.get("/v1/tasks").await;
    let stopped = stopped.expect_error(403, "MANDATE_PAUSED");
    let policy = stopped.header("ratelimit-policy");
    assert_eq!(policy, "\"default\";q=2250;w=60");
}

async fn another_account_finds_no_mandate(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    let agent = Limited::in_test(&app, &dev, everything()).await;
    let path = agent.path();
    other
        .live
        .get(&path)
        .await
        .expect_error(404, "KEY_NOT_FOUND");
    let changed = put(&other.live, &path, &everything()).await;
    changed.expect_error(404, "KEY_NOT_FOUND");
    let lifted = other.live.delete(&path).await;
    lifted.expect_error(404, "KEY_NOT_FOUND");
    assert_eq!(agent.mandate().await["version"], 1);
    let revoke = format!("/v1/account/keys/{}", agent.id);
    dev.live.delete(&revoke).await.expect(200);
    let revoked = put(&dev.live, &path, &everything()).await;
    revoked.expect_error(404, "KEY_NOT_FOUND");
    let stopped = agent.client.get("/v1/mandate").await;
    stopped.expect_error(401, "UNAUTHORIZED");
}

async fn the_last_refusal_is_shown(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, with("max_task_cents", json!(1_000))).await;
    assert_eq!(agent.mandate().await["last_refused"], json!(null));
    let before = refusals(&app).await;
    refused_by(&agent.create(1_001).await, "max_task_cents");
    let refused = agent.mandate().await["last_refused"].clone();
    assert_eq!(refused["field"], "max_task_cents");
    let many = json!({"tasks": [super::task(999), super::task(1_002)]});
    let made = agent
        .client
        .post("/v1/tasks/batch", &many)
        .await
        .expect(200);
    assert_eq!(made["data"][0]["status"], 201);
    assert_eq!(made["data"][1]["error"]["code"], "MANDATE_EXCEEDED");
    // Other tests of this process may be refused too.
    assert!(refusals(&app).await >= before + 2);
}

/// How often a mandate has refused a task because of its budget, as the operator reads it.
async fn refusals(app: &TestApp) -> u64 {
    let metrics = app.client().get("/metrics").await.text;
    let name = "legwork_mandate_refusals_total{reason=\"max_task_cents\"} ";
    let mut samples = metrics.lines().filter_map(|line| line.strip_prefix(name));
    samples.next().map_or(0, |count| count.parse().unwrap())
}
