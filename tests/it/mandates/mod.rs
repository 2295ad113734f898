//! Keys with a mandate: what they may do, what they may spend, and what comes back.

mod approvals;
mod clocks;
mod granting;
mod late_bodies;
mod people;
mod races;
mod spending;
pub mod terms;
mod worked;

use serde_json::{Value, json};

use crate::support::{Client, Developer, Reply, TestApp, storefront};

/// A key with a mandate.
pub struct Limited {
    pub id: String,
    pub key: String,
    pub client: Client,
}

impl Limited {
    pub async fn new(app: &TestApp, dev: &Developer, environment: &str, mandate: Value) -> Self {
        let new = json!({"name": "Agent", "environment": environment, "mandate": mandate});
        let made = dev.live.post("/v1/account/keys", &new).await.expect(201);
        let key = made["key"].as_str().unwrap().to_owned();
        Self {
            id: made["id"].as_str().unwrap().to_owned(),
            client: Client::new(app.address, Some(&key)),
            key,
        }
    }

    pub async fn in_test(app: &TestApp, dev: &Developer, mandate: Value) -> Self {
        Self::new(app, dev, "test", mandate).await
    }

    pub fn path(&self) -> String {
        format!("/v1/account/keys/{}/mandate", self.id)
    }

    pub async fn mandate(&self) -> Value {
        self.client.get("/v1/mandate").await.expect(200)
    }

    /// How much is used of a limit.
    pub async fn used(&self, field: &str) -> i64 {
        let mandate = self.mandate().await;
        let uses = mandate["usage"].as_array().unwrap();
        let of_field = uses.iter().find(|counted| counted["field"] == field);
        of_field.unwrap()["used"].as_i64().unwrap()
    }

    pub async fn create(&self, budget_cents: i64) -> Reply {
        self.client.post("/v1/tasks", &task(budget_cents)).await
    }
}

/// Sets the mandate at this path.
async fn put(client: &Client, path: &str, mandate: &Value) -> Reply {
    client.send("PUT", path, &[], mandate.to_string()).await
}

pub fn task(budget_cents: i64) -> Value {
    let mut task = storefront();
    task["budget_cents"] = budget_cents.into();
    task
}

/// Every permission.
pub fn everything() -> Value {
    json!({"permissions": ["read", "create", "review", "cancel", "test"]})
}

/// The same, with one more field.
pub fn with(field: &str, value: Value) -> Value {
    let mut mandate = everything();
    mandate[field] = value;
    mandate
}

#[track_caller]
pub fn refused_by(reply: &Reply, field: &str) {
    assert_eq!(reply.status, 403, "{}", reply.text);
    assert_eq!(reply.body["error"]["code"], "MANDATE_EXCEEDED");
    assert_eq!(reply.body["error"]["details"][0]["field"], field);
}
