//! One delivery attempt: the signed request, and the outcome.

use std::time::Instant;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::Inner;
use crate::domain::webhooks::delivery::TIME_LIMIT;
use crate::domain::webhooks::{self, WebhookSecret};
use crate::domain::{Attempt, EventId, EventType, Timestamp};
use crate::outbound::{EndpointUrl, OutboundError, Response};
use crate::store::Endpoint;

pub async fn send(
    inner: &Inner,
    endpoint: &Endpoint,
    message: EventId,
    event_type: EventType,
    data: &str,
    may_arrive_twice: bool,
) -> Attempt {
    let body = format!(r#"{{"event":"{event_type}","data":{data}}}"#);
    let (attempted_at, started) = (inner.clock.now(), Instant::now());
    let response = match prepare(endpoint, message, attempted_at, &body) {
        Ok((url, headers)) => {
            let (outbound, body) = (&inner.outbound, Bytes::from(body));
            match may_arrive_twice {
                true => {
                    outbound
                        .post_repeatable(&url, headers, body, TIME_LIMIT)
                        .await
                }
                false => outbound.post(&url, headers, body, TIME_LIMIT).await,
            }
        }
        Err(reason) => Err(OutboundError::Forbidden(reason)),
    };
    let (status_code, response_body, error) = match response {
        Ok(Response { status, body }) => {
            let text = String::from_utf8_lossy(&body).into_owned();
            (Some(status), Some(text), None)
        }
        Err(error) => (None, None, Some(error.to_string())),
    };
    Attempt {
        attempted_at,
        status_code,
        duration_ms: started.elapsed().as_millis() as u64,
        error,
        response_body,
    }
}

fn prepare(
    endpoint: &Endpoint,
    message: EventId,
    at: Timestamp,
    body: &str,
) -> Result<(EndpointUrl, HeaderMap), String> {
    let url = EndpointUrl::RULE
        .check(&endpoint.url)
        .map_err(|error| format!("the URL {error}"))?;
    let id = message.to_string();
    let signed = webhooks::sign(&secrets(endpoint, at), &id, at, body.as_bytes());
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in [
        ("x-service-timestamp", &signed.timestamp),
        ("x-service-signature", &signed.service),
        ("webhook-id", &id),
        ("webhook-timestamp", &signed.timestamp),
        ("webhook-signature", &signed.standard),
    ] {
        let value = HeaderValue::from_str(value).map_err(|e| e.to_string())?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok((url, headers))
}

/// The valid secrets, the newest first.
fn secrets(endpoint: &Endpoint, at: Timestamp) -> Vec<WebhookSecret> {
    let old = endpoint.old_secrets.iter().filter(|old| old.until > at);
    let secrets = std::iter::once(&endpoint.secret).chain(old.map(|old| &old.secret));
    secrets
        .filter_map(|text| WebhookSecret::parse(text))
        .collect()
}
