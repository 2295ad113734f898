//! Owners manage the keys of admins, and open accounts.

use legwork::domain::AdminRole;
use serde_json::{Value, json};

use crate::support::{Client, TestApp, on_both_engines};

on_both_engines!(
    owners_create_list_and_revoke_keys,
    the_last_owner_stays,
    of_two_owners_who_revoke_each_other_one_stays,
    an_account_is_opened_once_with_keys_that_work,
);

fn of(keys: &Value, id: &Value) -> Value {
    let keys = keys["data"].as_array().unwrap().iter();
    keys.clone().find(|key| key["id"] == *id).unwrap().clone()
}

fn revoke(id: &Value) -> String {
    format!("/v1/admin/keys/{}", id.as_str().unwrap())
}

async fn owners_create_list_and_revoke_keys(app: TestApp) {
    let owner = app.admin().await;
    let body = json!({"name": "Grace", "role": "viewer"});
    for (faulty, fields) in [
        (json!({}), vec!["name", "role"]),
        (json!({"name": " ", "role": "god"}), vec!["name", "role"]),
        (
            json!({"name": "x", "role": "owner", "key": "y"}),
            vec!["key"],
        ),
    ] {
        let refused = owner.post("/v1/admin/keys", &faulty).await;
        assert_eq!(refused.faulty_fields(), fields);
    }
    let once = [("idempotency-key", "grace")];
    let made = owner.post_with("/v1/admin/keys", &once, &body).await;
    let made = made.expect(201);
    let again = owner.post_with("/v1/admin/keys", &once, &body).await;
    assert_eq!(again.expect(201), made);
    let grace = Client::new(app.address, made["key"].as_str());
    let listed = owner.get("/v1/admin/keys").await.expect(200);
    assert_eq!(of(&listed, &made["id"])["last_used_at"], Value::Null);
    assert!(!listed.to_string().contains(made["key"].as_str().unwrap()));
    let stored = app.database.everything().await;
    assert!(!stored.contains(made["key"].as_str().unwrap()));
    app.set_time("2025-11-15T13:00:00.000Z");
    grace.get("/v1/admin/queue").await.expect(200);
    let refused = grace.post("/v1/admin/keys", &body).await;
    refused.expect_error(403, "FORBIDDEN");
    let listed = owner.get("/v1/admin/keys").await.expect(200);
    let key = of(&listed, &made["id"]);
    assert_eq!(key["last_used_at"], "2025-11-15T13:00:00.000Z");
    assert_eq!(
        (&key["name"], &key["role"]),
        (&json!("Grace"), &json!("viewer"))
    );
    let revoked = owner.delete(&revoke(&made["id"])).await.expect(200);
    assert_eq!(revoked["revoked_at"], "2025-11-15T13:00:00.000Z");
    assert_eq!(
        owner.delete(&revoke(&made["id"])).await.expect(200),
        revoked
    );
    let gone = grace.get("/v1/admin/queue").await;
    gone.expect_error(401, "UNAUTHORIZED");
    let none = owner.delete("/v1/admin/keys/none").await;
    none.expect_error(404, "KEY_NOT_FOUND");
    for action in ["admin_key.created", "admin_key.revoked"] {
        let lines = owner.get(&format!("/v1/admin/audit?action={action}")).await;
        let line = &lines.expect(200)["data"][0];
        assert_eq!(line["subject_id"], made["id"]);
        assert_eq!(line["by"]["type"], "admin");
    }
}

async fn the_last_owner_stays(app: TestApp) {
    let owner = app.admin().await;
    app.admin_with(AdminRole::Operator).await;
    let keys = owner.get("/v1/admin/keys").await.expect(200);
    let own = keys["data"].as_array().unwrap().iter();
    let own = own.clone().find(|key| key["role"] == "owner").unwrap();
    let refused = owner.delete(&revoke(&own["id"])).await;
    refused.expect_error(409, "LAST_OWNER_KEY");
    let body = json!({"name": "Grace", "role": "owner"});
    owner.post("/v1/admin/keys", &body).await.expect(201);
    owner.delete(&revoke(&own["id"])).await.expect(200);
    let gone = owner.get("/v1/admin/keys").await;
    gone.expect_error(401, "UNAUTHORIZED");
}

async fn of_two_owners_who_revoke_each_other_one_stays(app: TestApp) {
    let first = app.admin().await;
    for _ in 0..5 {
        let body = json!({"name": "Grace", "role": "owner"});
        let mut owners = Vec::new();
        for _ in 0..2 {
            let made = first.post("/v1/admin/keys", &body).await.expect(201);
            let client = Client::new(app.address, made["key"].as_str());
            owners.push((client, revoke(&made["id"])));
        }
        let [(one, its), (two, others)] = &owners[..] else {
            unreachable!();
        };
        let (left, right) = tokio::join!(one.delete(others), two.delete(its));
        let mut statuses = [left.status.as_u16(), right.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 401]);
    }
}

async fn an_account_is_opened_once_with_keys_that_work(app: TestApp) {
    let owner = app.admin().await;
    let body = json!({"email": "Jane@Example.com", "name": "Jane", "tier": "growth"});
    let faulty = json!({"email": "jane", "name": "", "tier": "gold", "status": "active"});
    let faulty = owner.post("/v1/admin/accounts", &faulty).await;
    let mut fields = faulty.faulty_fields();
    fields.sort();
    assert_eq!(fields, ["email", "name", "status", "tier"]);
    let once = [("idempotency-key", "jane")];
    let opened = owner.post_with("/v1/admin/accounts", &once, &body).await;
    let opened = opened.expect(201);
    assert_eq!(opened["account"]["tier"], "growth");
    assert_eq!(opened["account"]["status"], "active");
    let again = owner.post_with("/v1/admin/accounts", &once, &body).await;
    assert_eq!(again.expect(201), opened);
    let taken = owner.post("/v1/admin/accounts", &body).await;
    taken.expect_error(409, "EMAIL_TAKEN");
    for key in ["live_key", "test_key"] {
        let key = opened[key].as_str().unwrap();
        let account = Client::new(app.address, Some(key)).get("/v1/account").await;
        assert_eq!(account.expect(200)["id"], opened["account"]["id"]);
        assert!(!app.database.everything().await.contains(key));
    }
    let line = owner.get("/v1/admin/audit?action=account.created").await;
    let line = &line.expect(200)["data"][0];
    assert_eq!(line["subject_id"], opened["account"]["id"]);
    assert_eq!(line["by"]["type"], "admin");
}
