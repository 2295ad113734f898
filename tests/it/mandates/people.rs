//! What is left to people, and what they are told.

use serde_json::{Value, json};

use super::{Limited, everything, refused_by, with};
use crate::support::{TestApp, on_both_engines, path};

on_both_engines!(
    a_key_reviews_up_to_its_limit,
    the_owner_is_told_when_a_limit_is_nearly_used_up,
    a_refusal_tells_the_owner_too,
    test_keys_can_be_confined_to_test,
);

async fn told(app: &TestApp, kind: &str) -> Vec<Value> {
    let admin = app.admin().await;
    let list = admin.get("/v1/admin/notices").await.expect(200);
    let list = list["data"].as_array().unwrap().iter();
    list.filter(|told| told["kind"] == kind).cloned().collect()
}

async fn a_key_reviews_up_to_its_limit(app: TestApp) {
    let dev = app.developer().await;
    let agent = Limited::in_test(&app, &dev, with("review_up_to_cents", json!(2_000))).await;
    for (budget, verdict) in [(2_000, "approve"), (2_001, "approve"), (2_001, "reject")] {
        let task = agent.create(budget).await.expect(201);
        let id = task["id"].as_str().unwrap();
        let advance = format!("/v1/test_helpers/tasks/{id}/advance");
        let to = json!({"to": "proof_submitted"});
        agent.client.post(&advance, &to).await.expect(200);
        let proofs = format!("{}/proofs", path(&task));
        let proof = agent.client.get(&proofs).await.expect(200)["data"][0].clone();
        let proof = proof["id"].as_str().unwrap();
        let review = format!("{proofs}/{proof}/{verdict}");
        let reason = match verdict {
            "reject" => json!({"reason": "Too dark."}),
            _ => json!({}),
        };
        let reviewed = agent.client.post(&review, &reason).await;
        if budget == 2_000 {
            reviewed.expect(200);
            continue;
        }
        refused_by(&reviewed, "review_up_to_cents");
        refused_by(
            &agent.client.post(&review, &reason).await,
            "review_up_to_cents",
        );
        let waits = agent.client.get(&path(&task)).await.expect(200);
        assert_eq!(waits["status"], "proof_submitted");
        dev.test.post(&review, &reason).await.expect(200);
    }
    // Once for each of the two tasks, however often the key tried.
    assert_eq!(told(&app, "review_needed").await.len(), 2);
    let mut without = with("review_up_to_cents", json!(2_000));
    without["permissions"] = json!(["read"]);
    let (path, without) = (agent.path(), without.to_string());
    let refused = dev.live.send("PUT", &path, &[], without).await;
    let refused = refused.expect_error(400, "VALIDATION_ERROR");
    let field = &refused.body["error"]["details"][0]["field"];
    assert_eq!(field, "review_up_to_cents");
}

async fn the_owner_is_told_when_a_limit_is_nearly_used_up(app: TestApp) {
    let dev = app.developer().await;
    let limits =
        json!([{"interval": "day", "cents": 10_000}, {"interval": "total", "cents": 90_000}]);
    let agent = Limited::in_test(&app, &dev, with("spending_limits", limits)).await;
    agent.create(7_999).await.expect(201);
    app.jobs.drain().await.unwrap();
    assert!(told(&app, "limit_nearly_used").await.is_empty());
    agent.create(501).await.expect(201);
    agent.create(500).await.expect(201);
    app.jobs.drain().await.unwrap();
    agent.create(500).await.expect(201);
    app.jobs.drain().await.unwrap();
    let first = told(&app, "limit_nearly_used").await;
    assert_eq!(first.len(), 1);
    assert_eq!(
        first[0]["subject"],
        "Your key “Agent” has nearly used up a limit"
    );
    // Another day has a limit of its own.
    let day = json!({"advance_seconds": 24 * 60 * 60});
    dev.test
        .post("/v1/test_helpers/clock", &day)
        .await
        .expect(200);
    agent.create(8_000).await.expect(201);
    app.jobs.drain().await.unwrap();
    assert_eq!(told(&app, "limit_nearly_used").await.len(), 2);
}

async fn a_refusal_tells_the_owner_too(app: TestApp) {
    let dev = app.developer().await;
    let limits = json!([{"interval": "total", "cents": 10_000}]);
    let agent = Limited::in_test(&app, &dev, with("spending_limits", limits)).await;
    agent.create(9_000).await.expect(201);
    // As if nobody had noticed in the transaction of the task.
    app.database
        .execute("DELETE FROM jobs WHERE kind = 'warn_of_limits'")
        .await;
    refused_by(&agent.create(1_001).await, "spending_limits.total");
    agent.mandate().await;
    app.jobs.drain().await.unwrap();
    assert_eq!(told(&app, "limit_nearly_used").await.len(), 1);
}

async fn test_keys_can_be_confined_to_test(app: TestApp) {
    let dev = app.developer().await;
    let security = "/v1/account/security";
    let before = dev.test.get(security).await.expect(200);
    assert_eq!(before, json!({"test_keys_manage": "all"}));
    let agent = Limited::new(&app, &dev, "live", everything()).await;
    let revoke = format!("/v1/account/keys/{}", agent.id);
    let put = async |client: &crate::support::Client, path: &str, body: Value| {
        client.send("PUT", path, &[], body.to_string()).await
    };
    put(&dev.test, &agent.path(), everything())
        .await
        .expect(200);
    let only_test = json!({"test_keys_manage": "test"});
    put(&dev.live, security, only_test.clone())
        .await
        .expect(200);
    let live = json!({"name": "Live", "environment": "live"});
    let hook = json!({"url": "https://127.0.0.1:9/"});
    for refused in [
        dev.test.get(security).await,
        put(&dev.test, security, json!({"test_keys_manage": "all"})).await,
        put(&dev.test, "/v1/account/webhook", hook).await,
        dev.test.post("/v1/account/keys", &live).await,
        put(&dev.test, &agent.path(), everything()).await,
        dev.test.delete(&agent.path()).await,
        dev.test.delete(&revoke).await,
        dev.test.post("/v1/account/export", &json!({})).await,
    ] {
        refused.expect_error(403, "PERMISSION_DENIED");
    }
    assert_eq!(agent.mandate().await["version"], 2);
    let test = json!({"name": "Test", "environment": "test"});
    let made = dev.test.post("/v1/account/keys", &test).await.expect(201);
    let made = format!("/v1/account/keys/{}", made["id"].as_str().unwrap());
    dev.test.delete(&made).await.expect(200);
    put(&dev.live, security, json!({"test_keys_manage": "some"}))
        .await
        .expect_error(400, "VALIDATION_ERROR");
    put(&dev.live, security, json!({"test_keys_manage": "all"}))
        .await
        .expect(200);
    dev.test.delete(&revoke).await.expect(200);
}
