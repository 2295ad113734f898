//! The workers' app with forms alone.

mod finding;
mod me;
mod phone;
mod signing_in;
mod tasks;

use serde_json::Value;

use super::Browser;
use crate::support::{TestApp, Worker};

/// A browser that is signed in as this worker.
pub async fn browser_of(app: &TestApp, worker: &Worker) -> Browser {
    let mut browser = Browser::of(app);
    let fields = [
        ("email", worker.email.as_str()),
        ("password", super::PASSWORD),
    ];
    let reply = browser.post("/worker/sign-in", &fields).await;
    assert_eq!(reply.status, 303, "{}", reply.text);
    browser
}

/// The key of the first form on a page that is sent to this address.
pub fn key_of(text: &str, action: &str) -> String {
    let form = text.split(&format!("action=\"{action}\"")).nth(1);
    let form = form.unwrap_or_else(|| panic!("no form for {action}: {text}"));
    let key = form.split("name=\"idempotency_key\" value=\"").nth(1);
    key.unwrap().split('"').next().unwrap().to_owned()
}

pub fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

fn page(task: &Value) -> String {
    format!("/worker/tasks/{}", task["id"].as_str().unwrap())
}
