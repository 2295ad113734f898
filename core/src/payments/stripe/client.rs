//! Sends requests to Stripe and interprets the responses.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{RequestBuilder, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::StripeError;
use super::responses::{Listed, Page};
use crate::domain::job::storable;
use crate::domain::{PaymentFailure, Secret};
use crate::payments::{ProcessorError, RequestError};
use crate::tls;

/// The last version before Stripe named its releases. It has every field that we read. The default
/// version of the Stripe account does not matter.
const VERSION: &str = "2024-06-20";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(30);
/// A page of 100 payments with their charges needs about a quarter of this.
const MAX_RESPONSE_BYTES: usize = 4 << 20;
const PAGE_SIZE: &str = "100";

/// The characters of an id that need no escaping.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-');

type Fields<'a> = [(&'a str, &'a str)];

/// Why there is no usable response.
#[derive(Debug)]
pub enum ClientError {
    /// The request may have taken effect.
    Unavailable(String),
    /// Stripe says that it failed, and will say so whenever it sees the key. Even so, the request may have
    /// taken effect.
    Failed(String),
    Refused(Box<StripeError>),
}

#[derive(Deserialize)]
struct ErrorBody {
    error: StripeError,
}

impl From<Box<StripeError>> for ProcessorError {
    fn from(error: Box<StripeError>) -> Self {
        let PaymentFailure { code, message } = error.failure();
        Self::Refused { code, message }
    }
}

impl From<ClientError> for ProcessorError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Unavailable(reason) | ClientError::Failed(reason) => {
                Self::Unavailable(reason)
            }
            ClientError::Refused(error) => error.into(),
        }
    }
}

impl From<Box<StripeError>> for RequestError {
    fn from(error: Box<StripeError>) -> Self {
        ClientError::Refused(error).into()
    }
}

impl From<ClientError> for RequestError {
    fn from(error: ClientError) -> Self {
        let key_spent = match &error {
            ClientError::Unavailable(_) => false,
            ClientError::Failed(_) => true,
            // What the key stands for was asked before, and is not answered by this.
            ClientError::Refused(error) => !error.is_about_key(),
        };
        Self {
            error: error.into(),
            key_spent,
        }
    }
}

pub struct Client {
    http: reqwest::Client,
    base_url: String,
    authorization: HeaderValue,
}

impl Client {
    pub fn new(key: &Secret, base_url: &str) -> Result<Self, String> {
        let encrypted = base_url.starts_with("https://");
        if !encrypted && !base_url.starts_with("http://") {
            return Err("Stripe's URL must begin with https://".to_owned());
        }
        if !encrypted && key.expose().contains("_live_") {
            return Err(
                "a live key needs encryption: Stripe's URL must begin with https://".to_owned(),
            );
        }
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
            .map_err(|_| "the Stripe key contains invalid characters".to_owned())?;
        authorization.set_sensitive(true);
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(trust(encrypted)?)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .user_agent(concat!("legwork/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| format!("the HTTP client for Stripe could not be created: {e}"))?;
        Ok(Self {
            http,
            base_url: base_url.trim_end_matches('/').to_owned(),
            authorization,
        })
    }

    pub async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &Fields<'_>,
    ) -> Result<T, ProcessorError> {
        let url = format!("{}?{}", self.url(path)?, encoded(query));
        Ok(self.ask(self.http.get(url.trim_end_matches('?'))).await?)
    }

    /// A repeated request with the same key takes effect once.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        key: &str,
        form: &Fields<'_>,
    ) -> Result<T, ClientError> {
        let request = self
            .http
            .post(self.url(path)?)
            .header("idempotency-key", key)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(encoded(form));
        self.ask(request).await
    }

    /// All pages of a list.
    pub async fn all<T: DeserializeOwned + Listed>(
        &self,
        path: &[&str],
        filter: &Fields<'_>,
    ) -> Result<Vec<T>, ProcessorError> {
        let mut found: Vec<T> = Vec::new();
        loop {
            let after = found.last().map(|last| last.id().to_owned());
            let mut query = filter.to_vec();
            query.push(("limit", PAGE_SIZE));
            query.extend(after.as_deref().map(|after| ("starting_after", after)));
            let page: Page<T> = self.get(path, &query).await?;
            let last = !page.has_more || page.data.is_empty();
            found.extend(page.data);
            if last {
                return Ok(found);
            }
        }
    }

    fn url(&self, path: &[&str]) -> Result<String, ClientError> {
        Ok(format!("{}{}", self.base_url, joined(path)?))
    }

    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ClientError> {
        let mut response = request
            .header(AUTHORIZATION, self.authorization.clone())
            .header("stripe-version", VERSION)
            .send()
            .await
            .map_err(unreachable)?;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(unreachable)? {
            if body.len() + piece.len() > MAX_RESPONSE_BYTES {
                return Err(ClientError::Unavailable(
                    "its response is too large".to_owned(),
                ));
            }
            body.extend_from_slice(&piece);
        }
        judge(response.status(), &body)
    }
}

fn encoded(fields: &Fields<'_>) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}

/// The path of an object at Stripe. A part without a letter or digit is not an id. It would change
/// the meaning of the path: all payments instead of one, or one level up.
fn joined(parts: &[&str]) -> Result<String, ClientError> {
    let mut path = "/v1".to_owned();
    for part in parts {
        if !part.contains(|c: char| c.is_ascii_alphanumeric()) {
            return Err(ClientError::Refused(Box::new(StripeError {
                code: Some("resource_missing".to_owned()),
                message: Some(format!("{part:?} is not an id.")),
                ..StripeError::default()
            })));
        }
        path.push('/');
        path.extend(utf8_percent_encode(part, PLAIN));
    }
    Ok(path)
}

pub const FORBIDDEN: &str = "Stripe refused our key, or the key may not do this";

/// Interprets a response.
fn judge<T: DeserializeOwned>(status: StatusCode, body: &[u8]) -> Result<T, ClientError> {
    if status.is_success() {
        // The parser's message could repeat values, and some of them are secrets.
        return serde_json::from_slice(body).map_err(|e| {
            let (line, column) = (e.line(), e.column());
            ClientError::Unavailable(format!(
                "its response cannot be read at line {line}, column {column}"
            ))
        });
    }
    let unavailable = |reason: &str| Err(ClientError::Unavailable(format!("{status}: {reason}")));
    // The operator can fix this, and then the request succeeds. Stripe's message contains part of
    // the key.
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return unavailable(FORBIDDEN);
    }
    let Ok(ErrorBody { mut error }) = serde_json::from_slice(body) else {
        return unavailable("the response is not from Stripe");
    };
    error.message = error.message.as_deref().map(storable);
    if status.is_server_error() {
        let message = error.message();
        return Err(ClientError::Failed(format!("{status}: {message}")));
    }
    let busy = matches!(status, StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS);
    if busy || !status.is_client_error() {
        return unavailable(error.message());
    }
    Err(ClientError::Refused(Box::new(StripeError {
        status: status.as_u16(),
        ..error
    })))
}

/// Leaves out the URL: it adds nothing, and the ids in it need not be logged.
fn unreachable(error: reqwest::Error) -> ClientError {
    let what = if error.is_timeout() {
        "it did not answer in time"
    } else if error.is_connect() {
        "it cannot be reached"
    } else {
        "its response was lost"
    };
    let error = error.without_url();
    let mut reason = format!("{what}: {error}");
    let mut cause = std::error::Error::source(&error);
    while let Some(deeper) = cause {
        reason.push_str(&format!(": {deeper}"));
        cause = deeper.source();
    }
    ClientError::Unavailable(reason)
}

/// Trusts the system's authorities. Without any, no request could succeed, so this fails at
/// startup.
fn trust(needed: bool) -> Result<rustls::ClientConfig, String> {
    let authorities = tls::authorities(None)?;
    if needed && authorities.is_empty() {
        return Err(
            "this machine has no certificate authorities (install ca-certificates)".to_owned(),
        );
    }
    tls::client(authorities)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn judged(status: u16, body: &str) -> Result<Value, ProcessorError> {
        Ok(judge::<Value>(
            StatusCode::from_u16(status).unwrap(),
            body.as_bytes(),
        )?)
    }

    fn error(fields: Value) -> String {
        json!({ "error": fields }).to_string()
    }

    #[test]
    fn what_may_have_happened_is_unavailable() {
        let said = error(json!({"type": "api_error", "message": "Sorry.", "code": "lock_timeout"}));
        for status in [401, 403, 409, 429, 500, 502, 503, 302] {
            let judged = judged(status, &said);
            assert!(
                matches!(judged, Err(ProcessorError::Unavailable(_))),
                "{status}"
            );
        }
    }

    #[test]
    fn a_key_is_spent_when_stripe_has_answered_it() {
        let spent = |status, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            let judged = judge::<Value>(status, body.as_bytes());
            RequestError::from(judged.unwrap_err()).key_spent
        };
        let said = |kind: &str| error(json!({"type": kind, "message": "No."}));
        for status in [400, 402, 404, 500, 503] {
            assert!(spent(status, &said("invalid_request_error")), "{status}");
        }
        for status in [401, 403, 409, 429] {
            assert!(!spent(status, &said("invalid_request_error")), "{status}");
        }
        assert!(!spent(400, &said("idempotency_error")));
        for status in [400, 502, 504] {
            assert!(!spent(status, "<html>Bad gateway</html>"), "{status}");
        }
    }

    #[test]
    fn what_is_not_stripes_own_answer_is_unavailable() {
        for (status, body) in [
            (200, ""),
            (200, "<html>"),
            (400, "<html>"),
            (404, "404: Not Found"),
            (402, "{}"),
            (500, ""),
        ] {
            let judged = judged(status, body);
            assert!(
                matches!(judged, Err(ProcessorError::Unavailable(_))),
                "{status} {body}"
            );
        }
    }

    #[test]
    fn a_no_is_told_with_its_reason() {
        let said = error(json!({
            "type": "invalid_request_error", "code": "resource_missing", "message": "No such thing.",
        }));
        for status in [400, 404, 422] {
            let refused = ProcessorError::Refused {
                code: "resource_missing".to_owned(),
                message: "No such thing.".to_owned(),
            };
            assert_eq!(judged(status, &said), Err(refused));
        }
        let nameless = error(json!({"type": "invalid_request_error", "message": "Bad request"}));
        let Err(ProcessorError::Refused { code, .. }) = judged(400, &nameless) else {
            panic!("a error");
        };
        assert_eq!(code, "invalid_request_error");
    }

    #[test]
    fn a_decline_is_told_in_the_banks_words() {
        let said = error(json!({
            "type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds",
            "message": "Your card has insufficient funds.",
        }));
        let judged = judge::<Value>(StatusCode::PAYMENT_REQUIRED, said.as_bytes());
        let Err(ClientError::Refused(error)) = judged else {
            panic!("a error");
        };
        assert!(error.is_decline());
        assert_eq!(error.failure().code, "insufficient_funds");
        assert_eq!(error.failure().message, "Your card has insufficient funds.");
    }

    #[test]
    fn a_refused_key_is_not_repeated() {
        let said = error(json!({"message": "Invalid API Key provided: sk_test_abc***def"}));
        let told = format!("{:?}", judged(401, &said));
        assert!(!told.contains("sk_test"), "{told}");
    }

    #[test]
    fn a_secret_in_an_answer_is_not_repeated() {
        #[derive(Debug, Deserialize)]
        struct Number {
            #[allow(dead_code)]
            id: i64,
        }
        let told = judge::<Number>(StatusCode::OK, br#"{"id": "pi_1_secret_2"}"#);
        let told = format!("{told:?}");
        assert!(!told.contains("pi_1"), "{told}");
    }

    #[test]
    fn ids_stay_within_their_part_of_the_path() {
        let path = |id| joined(&["payment_intents", id, "confirm"]);
        assert_eq!(
            path("pi_3-A").unwrap(),
            "/v1/payment_intents/pi_3-A/confirm"
        );
        assert_eq!(
            path("../x?y#z%").unwrap(),
            "/v1/payment_intents/%2E%2E%2Fx%3Fy%23z%25/confirm"
        );
        for id in ["", ".", "..", "/", " "] {
            assert!(path(id).is_err(), "{id:?}");
        }
    }

    #[test]
    fn a_live_key_does_not_travel_in_the_clear() {
        let client = |key: &str, url| Client::new(&Secret::presented(key), url);
        assert!(client("sk_test_1", "http://127.0.0.1:1").is_ok());
        for (key, url) in [
            ("sk_live_1", "http://127.0.0.1:1"),
            ("rk_live_1", "http://api.stripe.com"),
            ("sk_test_1", "api.stripe.com"),
            ("sk_test\n", "https://api.stripe.com"),
        ] {
            let error = client(key, url).err().unwrap();
            assert!(!error.contains(key.trim()), "{error}");
        }
    }
}
