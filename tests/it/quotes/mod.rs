//! POST /v1/quotes, and the tasks that quotes become.

mod coverage;
mod keeping;
mod limited_keys;
mod making;
mod races;
mod redeeming;

use serde_json::{Value, json};

use crate::support::{Client, Reply, storefront};

/// Asks for a quote of the usual task.
async fn quote(client: &Client) -> Value {
    client.post("/v1/quotes", &storefront()).await.expect(201)
}

async fn redeem(client: &Client, quote: &Value) -> Reply {
    let body = json!({"quote_id": quote["id"]});
    client.post("/v1/tasks", &body).await
}

async fn tasks(client: &Client) -> Value {
    client.get("/v1/tasks").await.expect(200)["meta"]["total"].clone()
}
