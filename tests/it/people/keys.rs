//! The last key, and keys for those who have lost theirs.

use legwork::domain::AdminRole;
use serde_json::{Value, json};

use crate::support::{Client, Developer, Reply, TestApp, on_both_engines};

on_both_engines!(
    the_last_key_of_an_environment_needs_a_confirmation,
    two_at_once_do_not_revoke_the_last_two_keys,
    an_owner_makes_a_key_for_an_account,
    an_owner_lists_and_revokes_the_keys_of_an_account,
);

const KEYS: &str = "/v1/account/keys";
const CONFIRM: &str = r#"{"confirm": true}"#;

async fn keys_of(dev: &Developer, environment: &str) -> Vec<String> {
    let list = dev.live.get(KEYS).await.expect(200);
    let keys = list["data"].as_array().unwrap().iter();
    let active = |key: &&Value| key["revoked_at"].is_null() && key["environment"] == environment;
    let path = |key: &Value| format!("{KEYS}/{}", key["id"].as_str().unwrap());
    keys.filter(active).map(path).collect()
}

async fn revoke(dev: &Developer, path: &str, body: &'static str) -> Reply {
    dev.live.send("DELETE", path, &[], body).await
}

async fn the_last_key_of_an_environment_needs_a_confirmation(app: TestApp) {
    let dev = app.developer().await;
    for environment in ["test", "live"] {
        let path = keys_of(&dev, environment).await.remove(0);
        for body in ["", "{}", r#"{"confirm": false}"#] {
            let refused = revoke(&dev, &path, body).await;
            let refused = refused.expect_error(409, "LAST_KEY");
            let of_environment = format!("the last {environment} key");
            assert!(refused.text.contains(&of_environment), "{}", refused.text);
            // The test key has gone before the live one.
            let manages_alone = refused.text.contains("manage the account");
            assert_eq!(manages_alone, environment == "live", "{}", refused.text);
        }
        let faulty = revoke(&dev, &path, r#"{"confirm": "yes", "really": 1}"#).await;
        assert_eq!(faulty.faulty_fields(), ["confirm", "really"]);
        // With another one there is no need.
        let new = json!({"name": "Second", "environment": environment});
        dev.live.post(KEYS, &new).await.expect(201);
        let other = keys_of(&dev, environment).await;
        let second = other.iter().find(|one| **one != path).unwrap();
        revoke(&dev, second, "").await.expect(200);
        revoke(&dev, &path, CONFIRM).await.expect(200);
        if environment == "test" {
            // Revoking it again needs nothing.
            revoke(&dev, &path, "").await.expect(200);
        }
    }
    let gone = dev.live.get(KEYS).await;
    gone.expect_error(401, "UNAUTHORIZED");
}

async fn two_at_once_do_not_revoke_the_last_two_keys(app: TestApp) {
    let dev = app.developer().await;
    for _ in 0..5 {
        let new = json!({"name": "Second", "environment": "test"});
        dev.live.post(KEYS, &new).await.expect(201);
        let keys = keys_of(&dev, "test").await;
        assert_eq!(keys.len(), 2);
        let (one, other) = tokio::join!(revoke(&dev, &keys[0], ""), revoke(&dev, &keys[1], ""));
        let mut statuses = [one.status.as_u16(), other.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
        assert_eq!(keys_of(&dev, "test").await.len(), 1);
    }
}

async fn an_owner_makes_a_key_for_an_account(app: TestApp) {
    let dev = app.developer().await;
    let path = format!("/v1/admin/accounts/{}/keys", dev.account_id);
    let body = json!({"name": "Replacement", "environment": "live"});
    let operator = app.admin_with(AdminRole::Operator).await;
    let refused = operator.post(&path, &body).await;
    refused.expect_error(403, "FORBIDDEN");
    let owner = app.admin_with(AdminRole::Owner).await;
    let once = [("Idempotency-Key", "once")];
    let made = owner.post_with(&path, &once, &body).await.expect(201);
    let again = owner.post_with(&path, &once, &body).await.expect(201);
    assert_eq!(made, again);
    let key = made["key"].as_str().unwrap();
    Client::new(app.address, Some(key))
        .get("/v1/account")
        .await
        .expect(200);
    assert!(!app.database.everything().await.contains(key));
    let faulty = owner.post(&path, &json!({"name": ""})).await;
    assert_eq!(faulty.faulty_fields(), ["name", "environment"]);
    let nobody = format!("/v1/admin/accounts/{}/keys", "0".repeat(32));
    let nobody = owner.post(&nobody, &body).await;
    nobody.expect_error(404, "ACCOUNT_NOT_FOUND");
    let audit = "/v1/admin/audit?action=api_key.created";
    let lines = owner.get(audit).await.expect(200);
    let line = &lines["data"][0];
    assert_eq!(line["subject_id"], made["id"]);
}

async fn an_owner_lists_and_revokes_the_keys_of_an_account(app: TestApp) {
    let (dev, other) = (app.developer().await, app.developer().await);
    dev.live.get("/v1/account").await.expect(200);
    let path = format!("/v1/admin/accounts/{}/keys", dev.account_id);
    let owner = app.admin_with(AdminRole::Owner).await;
    let own = dev.live.get(KEYS).await.expect(200);
    let list = owner.get(&path).await.expect(200);
    let keys = list["data"].as_array().unwrap();
    assert_eq!(keys.len(), own["data"].as_array().unwrap().len());
    let live = keys
        .iter()
        .find(|key| key["environment"] == "live")
        .unwrap();
    assert!(live["last_used_at"].is_string(), "{live}");
    assert!(live.get("key").is_none());
    let one = format!("{path}/{}", live["id"].as_str().unwrap());
    let refused = owner.send("DELETE", &one, &[], "").await;
    refused.expect_error(409, "LAST_KEY");
    // It is not the key of another account.
    let elsewhere = one.replace(&dev.account_id, &other.account_id);
    let elsewhere = owner.send("DELETE", &elsewhere, &[], CONFIRM).await;
    elsewhere.expect_error(404, "KEY_NOT_FOUND");
    owner.send("DELETE", &one, &[], CONFIRM).await.expect(200);
    let gone = dev.live.get("/v1/account").await;
    gone.expect_error(401, "UNAUTHORIZED");
    let nobody = format!("/v1/admin/accounts/{}/keys", "0".repeat(32));
    let nobody = owner.get(&nobody).await;
    nobody.expect_error(404, "ACCOUNT_NOT_FOUND");
    let lines = owner.get("/v1/admin/audit?action=api_key.revoked").await;
    assert_eq!(lines.expect(200)["data"][0]["by"]["type"], "admin");
}
