//! Requests to Stripe and answers to them.

use std::collections::HashMap;

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::support::Reply;

/// Small pages, so that whoever lists things has to turn some.
const PAGE: usize = 2;

pub type Pairs = Vec<(String, String)>;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub query: Pairs,
    pub form: Pairs,
    headers: HashMap<String, String>,
}

impl Asked {
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut pairs = self.form.iter().chain(&self.query);
        let (_, value) = pairs.find(|(known, _)| known == name)?;
        Some(value)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn form_without(&self, dropped: &[&str]) -> String {
        let kept = self.form.iter();
        encoded(kept.filter(|(name, _)| !dropped.contains(&name.as_str())))
    }
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    /// Whether localstripe gave it, which leaves out much of what Stripe answers.
    pub by_localstripe: bool,
}

impl Answer {
    pub fn ok(body: Value) -> Self {
        Self {
            status: 200,
            body,
            by_localstripe: false,
        }
    }

    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let error = json!({"type": "invalid_request_error", "code": code, "message": message});
        Self {
            status,
            body: json!({ "error": error }),
            by_localstripe: false,
        }
    }

    pub fn about(mut self, parameter: &str) -> Self {
        self.body["error"]["param"] = json!(parameter);
        self
    }

    /// An answer of localstripe; its errors in Stripe's words.
    pub fn relayed(reply: Reply) -> Self {
        let status = reply.status.as_u16();
        let message = reply.body["error"]["message"].as_str();
        let message = message.unwrap_or(&reply.text).to_owned();
        match status {
            200 => Self {
                by_localstripe: true,
                ..Self::ok(reply.body)
            },
            400 => Self::error(400, "payment_intent_unexpected_state", &message),
            402 => {
                let mut declined = Self::error(402, "card_declined", &message);
                declined.body["error"]["type"] = json!("card_error");
                declined.body["error"]["decline_code"] = json!("generic_decline");
                declined
            }
            404 => Self::error(404, "resource_missing", &message),
            status => panic!("localstripe answered {status}: {message}"),
        }
    }

    /// Stripe has failed, and does not know itself what came of it.
    pub fn failure() -> Self {
        let mut failed = Self::error(500, "", "An unknown error occurred.");
        failed.body["error"] =
            json!({"type": "api_error", "message": "An unknown error occurred."});
        failed
    }
}

/// A page of what there is, never a large one.
pub fn page(asked: &Asked, all: Vec<Value>, by_localstripe: bool) -> Answer {
    let after = asked.field("starting_after");
    let place = all.iter().position(|item| item["id"].as_str() == after);
    let start = place.map_or(0, |place| place + 1);
    let end = all.len().min(start + PAGE);
    let list = json!({
        "object": "list", "url": asked.path, "has_more": end < all.len(), "data": all[start..end],
    });
    Answer {
        by_localstripe,
        ..Answer::ok(list)
    }
}

pub async fn read(request: Request<Incoming>) -> Asked {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let header = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    Asked {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: decoded(parts.uri.query().unwrap_or_default().as_bytes()),
        form: decoded(&body),
        headers: parts.headers.iter().map(header).collect(),
    }
}

fn decoded(text: &[u8]) -> Pairs {
    form_urlencoded::parse(text).into_owned().collect()
}

pub fn encoded<'a>(pairs: impl IntoIterator<Item = &'a (String, String)>) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}
