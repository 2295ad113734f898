//! Secrets at rest: sealed under a master key that is not in the database.

mod audit_chain;
mod dump;
mod keys;
mod losing;
mod rotating;
mod sealing;

use serde_json::{Value, json};

use crate::support::Client;

/// Sets the webhook, and returns its secret: the same as before if there was one.
pub async fn webhook_secret(client: &Client) -> String {
    let body = json!({"url": "https://127.0.0.1:9/hook"});
    let reply = client.send("PUT", "/v1/account/webhook", &[], body.to_string());
    text(&reply.await.expect(200)["webhook_secret"])
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
