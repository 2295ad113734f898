//! Events: written with what happened, read, streamed, delivered; and what people are told.

mod changing;
mod concurrency;
mod crashes;
mod delivering;
mod notifications;
mod reading;
mod recording;
mod recovering;
mod settings;
mod streaming;

use serde_json::{Value, json};

use crate::support::{Client, Developer, Received, Receiver};

/// All events of a key's environment, oldest first.
async fn all_events(client: &Client) -> Vec<Value> {
    let mut events = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("/v1/events?limit=100{cursor}")).await;
        let page = page.expect(200);
        events.extend(page["data"].as_array().unwrap().clone());
        match page["meta"]["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    events.reverse();
    events
}

fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect()
}

/// The types of the events of one task, oldest first.
async fn told_of(client: &Client, task: &Value) -> Vec<String> {
    let path = format!(
        "/v1/events?limit=100&task_id={}",
        task["id"].as_str().unwrap()
    );
    let page = client.get(&path).await.expect(200);
    let events = page["data"].as_array().unwrap().iter().rev();
    events
        .map(|event| event["event"].as_str().unwrap().to_owned())
        .collect()
}

impl Developer {
    /// Has events delivered to a receiver; tells the secret.
    pub async fn listen_at(&self, receiver: &Receiver) -> String {
        self.put_webhook(&receiver.url("/hook"), json!(null)).await
    }

    pub async fn put_webhook(&self, url: &str, events: Value) -> String {
        let body = json!({"url": url, "events": events}).to_string();
        let path = "/v1/account/webhook";
        let set = self.test.send("PUT", path, &[], body).await.expect(200);
        set["webhook_secret"].as_str().unwrap().to_owned()
    }
}

/// What a delivery carried.
fn body(received: &Received) -> Value {
    serde_json::from_slice(&received.body).unwrap()
}
