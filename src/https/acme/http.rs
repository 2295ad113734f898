//! HTTP to the certificate authority, within bounds: it is a stranger, too.

use std::error::Error as _;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::Request;
use http::header::{RETRY_AFTER, USER_AGENT};
use http_body_util::BodyExt;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};

use crate::tls;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_RESPONSE_BYTES: usize = 1 << 20;
const NAME: &str = concat!("legwork/", env!("CARGO_PKG_VERSION"));

/// Cheap to clone.
#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    /// Seconds for which an error answer asked us to wait. The protocol's client does not pass them
    /// on.
    asked_to_wait: Arc<AtomicU64>,
}

impl Http {
    /// Trusts the system's authorities, and those of a PEM file.
    pub fn new(authorities: Option<&Path>) -> Result<Self, String> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::client(tls::authorities(authorities)?)?)
            .https_only(true)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .build()
            .map_err(|e| format!("the HTTP client for the authority could not be created: {e}"))?;
        Ok(Self {
            client,
            asked_to_wait: Arc::default(),
        })
    }

    /// For how long the authority has asked us to wait since we last looked.
    pub fn asked_to_wait(&self) -> Option<Duration> {
        match self.asked_to_wait.swap(0, Ordering::Relaxed) {
            0 => None,
            seconds => Some(Duration::from_secs(seconds)),
        }
    }

    async fn send(self, request: Request<BodyWrapper<Bytes>>) -> Result<BytesResponse, Error> {
        let (parts, body) = request.into_parts();
        // Its error type has no values.
        let body = body.collect().await.map_err(|e| Error::Other(e.into()))?;
        let request = self
            .client
            .request(parts.method, parts.uri.to_string())
            .headers(parts.headers)
            .header(USER_AGENT, NAME)
            .body(body.to_bytes());
        let mut response = request.send().await.map_err(|e| other(told(&e)))?;
        let mut answer = http::Response::new(());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        let (parts, ()) = answer.into_parts();
        if parts.status.is_client_error() || parts.status.is_server_error() {
            self.note_wait(parts.headers.get(RETRY_AFTER));
        }
        let mut body = BytesMut::new();
        while let Some(piece) = response.chunk().await.map_err(|e| other(told(&e)))? {
            if body.len() + piece.len() > MAX_RESPONSE_BYTES {
                return Err(other("the answer is larger than 1 MiB".to_owned()));
            }
            body.extend_from_slice(&piece);
        }
        Ok(BytesResponse {
            parts,
            body: Box::new(body.freeze()),
        })
    }

    fn note_wait(&self, header: Option<&http::HeaderValue>) {
        let seconds = header.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        if let Some(seconds) = seconds {
            self.asked_to_wait.store(seconds, Ordering::Relaxed);
        }
    }
}

impl HttpClient for Http {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        Box::pin(self.clone().send(request))
    }
}

fn other(reason: String) -> Error {
    Error::Other(reason.into())
}

/// An error with its causes: the outermost says only that sending failed.
fn told(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
