//! docs/webhook-vectors.json: what we publish is what we sign, and what is said to be wrong is wrong.

use std::collections::BTreeMap;

use legwork::domain::{Timestamp, WebhookSecret, webhooks};
use serde::Deserialize;

/// How far the clocks of sender and receiver may be apart.
pub const TOLERANCE: i64 = 300;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "about")]
    _about: String,
    tolerance_seconds: i64,
    vectors: Vec<Vector>,
}

/// What arrives at a receiver, and what was sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    pub name: String,
    #[serde(rename = "why")]
    _why: String,
    pub secret: String,
    pub now: i64,
    pub headers: BTreeMap<String, String>,
    pub body: String,
    pub valid: bool,
    pub fault: Option<String>,
    pub signed: Message,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub secrets: Vec<String>,
    pub id: String,
    pub timestamp: i64,
    pub body: String,
}

impl Message {
    /// The headers with which we send it at this moment.
    pub fn headers(&self, at: Timestamp) -> BTreeMap<String, String> {
        let secrets = self.secrets.iter().map(|text| WebhookSecret::parse(text));
        let secrets: Vec<_> = secrets.map(Option::unwrap).collect();
        let signed = webhooks::sign(&secrets, &self.id, at, self.body.as_bytes());
        let headers = [
            ("X-Service-Timestamp", signed.timestamp.clone()),
            ("X-Service-Signature", signed.service),
            ("webhook-id", self.id.clone()),
            ("webhook-timestamp", signed.timestamp),
            ("webhook-signature", signed.standard),
        ];
        headers.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

impl Vector {
    /// How far the receiver's clock is ahead of the timestamp that arrives.
    pub fn age(&self) -> i64 {
        self.now - self.headers["X-Service-Timestamp"].parse::<i64>().unwrap()
    }

    fn faults(&self) -> Vec<&'static str> {
        let sent = self.signed.headers(seconds(self.signed.timestamp));
        let faults = [
            ("body", self.body != self.signed.body),
            ("headers", self.headers != sent),
            ("secret", !self.signed.secrets.contains(&self.secret)),
            ("time", self.age().abs() > TOLERANCE),
        ];
        let found = faults.into_iter().filter(|(_, is_there)| *is_there);
        found.map(|(fault, _)| fault).collect()
    }
}

fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn file() -> File {
    serde_json::from_str(include_str!("../../../docs/webhook-vectors.json")).unwrap()
}

pub fn all() -> Vec<Vector> {
    file().vectors
}

#[test]
fn the_headers_are_those_that_we_sign_and_each_vector_has_the_fault_it_names() {
    assert_eq!(file().tolerance_seconds, TOLERANCE);
    for vector in all() {
        let named: Vec<_> = vector.fault.iter().collect();
        assert_eq!(vector.faults(), named, "{}", vector.name);
        assert_eq!(vector.valid, named.is_empty(), "{}", vector.name);
    }
}

#[test]
fn there_are_vectors_for_everything_that_can_be_right_or_wrong() {
    let vectors = all();
    for fault in ["body", "headers", "secret", "time"] {
        let is_there = |vector: &Vector| vector.fault.as_deref() == Some(fault);
        assert!(vectors.iter().any(is_there), "{fault}");
    }
    let ages: Vec<_> = vectors.iter().map(Vector::age).collect();
    for age in [-TOLERANCE - 1, -TOLERANCE, TOLERANCE, TOLERANCE + 1] {
        assert!(ages.contains(&age), "{age} seconds");
    }
    // Each of two secrets verifies while both sign.
    for place in [0, 1] {
        let has_it = |vector: &Vector| {
            vector.valid
                && vector.signed.secrets.len() == 2
                && vector.secret == vector.signed.secrets[place]
        };
        assert!(vectors.iter().any(has_it), "secret {place} of two");
    }
    assert!(
        vectors
            .iter()
            .any(|vector| vector.valid && !vector.body.is_ascii())
    );
    assert!(
        vectors
            .iter()
            .any(|vector| vector.valid && vector.body.contains('\\'))
    );
}
