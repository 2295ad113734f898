//! Web Push: builds messages that only the browser can read.
//!
//! A message is encrypted (RFC 8291) and signed with VAPID (RFC 8292). The caller sends it.

mod encryption;
mod vapid;

use std::time::Duration;

use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use url::Url;

pub use encryption::MAX_PAYLOAD_BYTES;
pub use vapid::Vapid;

use crate::ambient;
use crate::domain::Timestamp;
use crate::domain::rules::TextRule;
use encryption::BrowserKeys;

const TTL: HeaderName = HeaderName::from_static("ttl");
const URGENCY: HeaderName = HeaderName::from_static("urgency");
const MAX_KEY_CHARACTERS: usize = 200;

/// A browser's push endpoint and its keys, in base64url or any other base64.
pub struct Subscription<'a> {
    pub endpoint: &'a str,
    pub p256dh: &'a str,
    pub auth: &'a str,
}

impl Subscription<'_> {
    /// The rules of its keys, for when a browser subscribes.
    pub const P256DH: TextRule = TextRule {
        min: 1,
        max: MAX_KEY_CHARACTERS,
        pattern: None,
        format: None,
        check: |rule, text| {
            let text = rule.text(text)?;
            BrowserKeys::check_public(&text)?;
            Ok(text)
        },
    };
    pub const AUTH: TextRule = TextRule {
        min: 1,
        max: MAX_KEY_CHARACTERS,
        pattern: None,
        format: None,
        check: |rule, text| {
            let text = rule.text(text)?;
            BrowserKeys::check_auth(&text)?;
            Ok(text)
        },
    };
}

/// Why no message could be built. A retry would not help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    #[error("the endpoint of the subscription is not an http or https URL")]
    Endpoint,
    #[error("a key of the subscription is not valid: {0}")]
    Keys(String),
    #[error("the payload has {0} bytes; the limit is {MAX_PAYLOAD_BYTES}")]
    PayloadTooLong(usize),
    #[error("the message could not be signed")]
    Signature,
}

/// Headers and body of the POST to the endpoint.
///
/// `contact` lets operators of push services reach the operator of this one: a `mailto:` or
/// `https:` URL. A message that has not reached the browser after `ttl` is dropped.
pub fn message(
    vapid: &Vapid,
    contact: &str,
    subscription: &Subscription<'_>,
    payload: &[u8],
    ttl: Duration,
    now: Timestamp,
) -> Result<(HeaderMap, Vec<u8>), PushError> {
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(PushError::PayloadTooLong(payload.len()));
    }
    let audience = origin(subscription.endpoint)?;
    let authorization = vapid.authorization(&audience, contact, now)?;
    let keys =
        BrowserKeys::read(subscription.p256dh, subscription.auth).map_err(PushError::Keys)?;
    let body = keys
        .encrypt(payload, &ambient::random())
        .map_err(PushError::Keys)?;
    let headers = HeaderMap::from_iter([
        (AUTHORIZATION, authorization),
        (CONTENT_ENCODING, HeaderValue::from_static("aes128gcm")),
        (
            CONTENT_TYPE,
            HeaderValue::from_static("application/octet-stream"),
        ),
        (TTL, HeaderValue::from(ttl.as_secs())),
        (URGENCY, HeaderValue::from_static("normal")),
    ]);
    Ok((headers, body))
}

/// Scheme, host and port: the audience of the signature.
fn origin(endpoint: &str) -> Result<String, PushError> {
    let url = Url::parse(endpoint).map_err(|_| PushError::Endpoint)?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(PushError::Endpoint);
    }
    Ok(url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests;
