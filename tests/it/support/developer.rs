//! A developer with an account and keys.

use std::net::SocketAddr;

use legwork::usecases::OpenedAccount;
use serde_json::{Value, json};

use super::{Client, Reply};

#[derive(Clone)]
pub struct Developer {
    pub account_id: String,
    pub test: Client,
    pub live: Client,
    pub test_key: String,
    pub live_key: String,
}

/// A task that is right in every field and has none that could be left out.
pub fn storefront() -> Value {
    json!({
        "title": "Photograph a storefront",
        "description": "Front of the shop with the opening hours in view.",
        "category": "photography",
        "location": {"city": "Brooklyn", "state": "NY", "latitude": 40.7163, "longitude": -73.9595},
        "budget_cents": 2500,
    })
}

impl Developer {
    pub fn new(address: SocketAddr, opened: &OpenedAccount) -> Self {
        let test_key = opened.test_key.secret.expose().to_owned();
        let live_key = opened.live_key.secret.expose().to_owned();
        Self {
            account_id: opened.account.id.to_string(),
            test: Client::new(address, Some(&test_key)),
            live: Client::new(address, Some(&live_key)),
            test_key,
            live_key,
        }
    }

    /// Creates a test task and returns it.
    pub async fn create_task(&self) -> Value {
        self.test.post("/v1/tasks", &storefront()).await.expect(201)
    }

    pub async fn create_live_task(&self) -> Value {
        self.live.post("/v1/tasks", &storefront()).await.expect(201)
    }

    /// Creates a test task with one field changed.
    pub async fn create_with(&self, field: &str, value: Value) -> Reply {
        let mut task = storefront();
        match field.strip_prefix("location.") {
            Some(inner) => task["location"][inner] = value,
            None => task[field] = value,
        }
        self.test.post("/v1/tasks", &task).await
    }
}

/// The path of a task.
pub fn path(task: &Value) -> String {
    format!("/v1/tasks/{}", task["id"].as_str().unwrap())
}
