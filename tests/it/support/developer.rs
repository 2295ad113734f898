//! A developer with an account and keys.

use std::net::SocketAddr;

use legwork::usecases::OpenedAccount;
use serde_json::{Value, json};

use super::{Client, Reply};

pub const GOOD_CARD: &str = "4242424242424242";

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

    /// Creates a live task that is to be paid for by hand, and returns it as it can be read later.
    pub async fn create_live_task(&self) -> Value {
        self.create_payable_task().await.0
    }

    /// Creates a live task and returns it with the secret with which it can be paid for.
    pub async fn create_payable_task(&self) -> (Value, String) {
        let reply = self.live.post("/v1/tasks", &storefront()).await;
        let mut task = reply.expect(201);
        let secret = task["payment_client_secret"].take();
        task.as_object_mut()
            .unwrap()
            .remove("payment_client_secret");
        (task, secret.as_str().unwrap().to_owned())
    }

    /// Creates a live task and pays for it on the sandbox's page.
    pub async fn create_paid_task(&self) -> Value {
        let (task, secret) = self.create_payable_task().await;
        let paid = self.live.pay(&secret, GOOD_CARD).await;
        assert_eq!(paid.status, 200, "{}", paid.text);
        self.live.get(&path(&task)).await.expect(200)
    }

    /// Sets the payment method that live tasks are charged to.
    pub async fn charge_to(&self, method: &str) {
        let body = json!({ "payment_method": method });
        let path = "/v1/account/payment_method";
        let set = self.live.send("PUT", path, &[], body.to_string()).await;
        set.expect(200);
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
