//! Web Push: what is sent to a browser's push service so that nobody but the browser can read it.
//!
//! The message is encrypted by RFC 8291 and signed by RFC 8292 (VAPID). Sending it is the caller's.

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
use encryption::BrowserKeys;

const TTL: HeaderName = HeaderName::from_static("ttl");
const URGENCY: HeaderName = HeaderName::from_static("urgency");

/// Where a browser takes messages, with its keys as it has told them: base64url, or any other
/// base64.
pub struct Subscription<'a> {
    pub endpoint: &'a str,
    pub p256dh: &'a str,
    pub auth: &'a str,
}

/// Why there is no message. Trying again would not help with any of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    #[error("the endpoint of the subscription is not an http or https URL")]
    Endpoint,
    #[error("a key of the subscription: {0}")]
    Keys(String),
    #[error("the payload has {0} bytes, at most {MAX_PAYLOAD_BYTES} are possible")]
    PayloadTooLong(usize),
    #[error("the message could not be signed")]
    Signature,
}

/// Everything of the POST to the endpoint but the sending: headers and body.
///
/// `contact` is where the people behind a push service find those behind this one: a `mailto:` or
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

/// Scheme, host and port: whom the signature is meant for.
fn origin(endpoint: &str) -> Result<String, PushError> {
    let url = Url::parse(endpoint).map_err(|_| PushError::Endpoint)?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(PushError::Endpoint);
    }
    Ok(url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests;
