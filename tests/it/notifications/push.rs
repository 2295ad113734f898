//! Push messages, read by others' code: what the browser's side decrypts is what was sent.

use std::time::Duration;

use axum::http::HeaderMap;
use legwork::ambient::Clock;
use legwork::push;
use legwork::push::{MAX_PAYLOAD_BYTES, Subscription, Vapid};
use serde_json::{Value, json};

use super::peers::push_service;
use super::tell;
use crate::support::{Client, Reply};

/// A browser's subscription to messages signed with this key.
async fn subscribe(service: &Client, vapid: &Vapid) -> Value {
    let options = json!({"userVisibleOnly": "true", "applicationServerKey": vapid.public_key()});
    let content = [("content-type", "application/json")];
    let answer = service.post_with("/subscribe", &content, &options).await;
    answer.expect(200)["data"].clone()
}

fn message(vapid: &Vapid, to: &Value, payload: &[u8]) -> (HeaderMap, Vec<u8>) {
    let text = |value: &'static str| to.pointer(value).unwrap().as_str().unwrap();
    let subscription = Subscription {
        endpoint: text("/endpoint"),
        p256dh: text("/keys/p256dh"),
        auth: text("/keys/auth"),
    };
    let contact = "mailto:people@legwork.example";
    // The receiver has no clock that can be set.
    let now = Clock::system().now();
    let day = Duration::from_hours(24);
    push::message(vapid, contact, &subscription, payload, day, now).unwrap()
}

async fn post(service: &Client, to: &Value, (headers, body): (HeaderMap, Vec<u8>)) -> Reply {
    let endpoint = to["endpoint"].as_str().unwrap();
    let path = &endpoint[endpoint.find("/notify/").unwrap()..];
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    service.send("POST", path, &headers, body).await
}

async fn received(service: &Client, to: &Value) -> Value {
    let asked = json!({"clientHash": to["clientHash"]});
    let content = [("content-type", "application/json")];
    let answer = service
        .post_with("/get-notifications", &content, &asked)
        .await;
    answer.expect(200)["data"]["messages"].clone()
}

#[test]
fn a_browser_reads_what_was_sent_to_it() {
    tell(async {
        let (service, vapid) = (push_service(), Vapid::generate().unwrap());
        let ada = subscribe(&service, &vapid).await;
        let eve = subscribe(&service, &vapid).await;
        let longest = "x".repeat(MAX_PAYLOAD_BYTES);
        let payloads = ["", "{\"title\":\"Füße 🦶\"}", &longest];
        for payload in payloads {
            let sent = message(&vapid, &ada, payload.as_bytes());
            post(&service, &ada, sent).await.expect(201);
        }
        assert_eq!(received(&service, &ada).await, json!(payloads));
        assert_eq!(received(&service, &eve).await, json!([]));
    });
}

#[test]
fn a_key_that_was_kept_still_signs_for_the_subscriptions_to_it() {
    tell(async {
        let (service, vapid) = (push_service(), Vapid::generate().unwrap());
        let ada = subscribe(&service, &vapid).await;
        let kept = Vapid::from_secret(&vapid.to_secret()).unwrap();
        let sent = message(&kept, &ada, b"hello");
        post(&service, &ada, sent).await.expect(201);
        assert_eq!(received(&service, &ada).await, json!(["hello"]));
    });
}

#[test]
fn nobody_else_can_send_and_nobody_else_can_read() {
    tell(async {
        let (service, vapid) = (push_service(), Vapid::generate().unwrap());
        let ada = subscribe(&service, &vapid).await;
        let eve = subscribe(&service, &vapid).await;
        let stranger = Vapid::generate().unwrap();
        post(&service, &ada, message(&stranger, &ada, b"hello"))
            .await
            .expect(400);
        // What was meant for Ada's browser is noise to another.
        post(&service, &eve, message(&vapid, &ada, b"hello"))
            .await
            .expect(400);
        let (headers, mut altered) = message(&vapid, &ada, b"hello");
        *altered.last_mut().unwrap() ^= 1;
        post(&service, &ada, (headers, altered)).await.expect(400);
        assert_eq!(received(&service, &ada).await, json!([]));
        assert_eq!(received(&service, &eve).await, json!([]));
    });
}
