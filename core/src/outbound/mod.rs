//! Calls to URLs from users: webhook endpoints and push subscriptions.
//!
//! Such a URL is not trusted. It may name our own network, lead there by DNS or a redirect, send an
//! endless response, or never respond. One client handles all of this in one place.

mod addresses;
mod connections;
mod endpoint;
mod error;
mod guard;
mod resolver;
mod resting;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use connections::{Opening, noting_opening};
use guard::Guard;
use http::header::{ACCEPT, CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING, USER_AGENT};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use ipnet::IpNet;
use resolver::SystemResolver;
use rustls::{ClientConfig, RootCertStore};

use crate::tls;

pub use endpoint::EndpointUrl;
pub use error::OutboundError;
pub use resolver::Resolver;
pub use resting::Resting;

/// How much of a response is read.
const MAX_RESPONSE_BYTES: usize = 4 << 10;
/// How long the head of a response may be, and how much of the rest is kept before it is read. Thousands of
/// calls may be under way.
const MAX_BUFFER_BYTES: usize = 16 << 10;
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// One host may have the endpoints of many accounts, and a handshake costs more than a delivery.
const MAX_IDLE_PER_HOST: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct OutboundSettings {
    /// Networks that may be called although they are not public.
    pub allow: Vec<IpNet>,
    /// A PEM file with authorities to trust in addition to the system's.
    pub authority: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// The first 4 KiB.
    pub body: Vec<u8>,
}

type Client = legacy::Client<Opening, Full<Bytes>>;

/// Cheap to clone.
#[derive(Clone)]
pub struct Outbound {
    http: Client,
    /// Opens a connection for each call.
    fresh: Client,
    guard: Guard,
    has_authorities: bool,
    is_discreet: bool,
}

impl Outbound {
    pub fn new(settings: &OutboundSettings) -> Result<Self, String> {
        Self::with_resolver(settings, Arc::new(SystemResolver::new()?))
    }

    pub fn with_resolver(
        settings: &OutboundSettings,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, String> {
        let guard = Guard::new(resolver, &settings.allow);
        match &settings.authority {
            Some(file) => Self::encrypted(tls::client_trusting(file)?, true, guard),
            None => Self::trusting(tls::authorities(None)?, guard),
        }
    }

    fn trusting(authorities: RootCertStore, guard: Guard) -> Result<Self, String> {
        let has_authorities = !authorities.is_empty();
        Self::encrypted(tls::client(authorities)?, has_authorities, guard)
    }

    fn encrypted(tls: ClientConfig, has_authorities: bool, guard: Guard) -> Result<Self, String> {
        let opening = Opening::new(tls, guard.clone());
        let client = |kept| {
            legacy::Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_max_idle_per_host(kept)
                .pool_idle_timeout(IDLE_TIMEOUT)
                .http1_max_buf_size(MAX_BUFFER_BYTES)
                .build(opening.clone())
        };
        let (http, fresh) = (client(MAX_IDLE_PER_HOST), client(0));
        Ok(Self {
            http,
            fresh,
            guard,
            has_authorities,
            is_discreet: false,
        })
    }

    /// Where private networks may be called, a failed call does not tell which of their ports are
    /// open.
    pub fn discreet(mut self, is_discreet: bool) -> Self {
        self.is_discreet = is_discreet;
        self
    }

    /// Whether an endpoint may be configured. A name that does not resolve is allowed: it may be
    /// added later, and every call checks again. Errors read like field errors.
    pub async fn check(&self, url: &EndpointUrl) -> Result<(), String> {
        let judged = match url.address() {
            Some(_) => self.guard.judge_address(url),
            None => self.guard.addresses(url.host()).await.map(drop),
        };
        match judged {
            Err(OutboundError::Forbidden(_)) => {
                Err("must lead to public addresses only".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Sends one POST. The timeout covers all of it, from the name lookup to the end of the
    /// response.
    pub async fn post(
        &self,
        url: &EndpointUrl,
        headers: HeaderMap,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Response, OutboundError> {
        let request = request(url, headers, body)?;
        let call = async { read(self.http.request(request).await?).await };
        self.called(url, call, timeout).await
    }

    /// Like `post`, for a request that may arrive twice. A connection that was kept may be closed by the
    /// other side in the moment in which it is used again. Then the request is sent on a new one.
    pub async fn post_repeatable(
        &self,
        url: &EndpointUrl,
        headers: HeaderMap,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Response, OutboundError> {
        let first = request(url, headers, body)?;
        let again = first.clone();
        let call = async {
            let (sent, opened) = noting_opening(self.http.request(first)).await;
            match sent.map_err(OutboundError::from) {
                Err(error) if error.is_early_close() && !opened => {
                    read(self.fresh.request(again).await?).await
                }
                sent => read(sent?).await,
            }
        };
        self.called(url, call, timeout).await
    }

    /// Makes a call in time, if it may be made.
    async fn called(
        &self,
        url: &EndpointUrl,
        call: impl Future<Output = Result<Response, OutboundError>>,
        timeout: Duration,
    ) -> Result<Response, OutboundError> {
        self.guard.judge_address(url)?;
        if !self.has_authorities {
            let reason = "this service has no certificate authorities (install ca-certificates)";
            return Err(OutboundError::Unreachable(reason.to_owned()));
        }
        let sent = tokio::time::timeout(timeout, call).await;
        let sent = sent.unwrap_or(Err(OutboundError::TimedOut));
        sent.map_err(|error| match self.is_discreet {
            true => error.discreet(),
            false => error,
        })
    }
}

fn request(
    url: &EndpointUrl,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, OutboundError> {
    let wrong = |_| OutboundError::Unreachable("its URL cannot be called".to_owned());
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::try_from(url.url().as_str()).map_err(wrong)?;
    *request.headers_mut() = headers;
    let user_agent = HeaderValue::from_static(concat!("legwork/", env!("CARGO_PKG_VERSION")));
    request.headers_mut().insert(USER_AGENT, user_agent);
    let any = HeaderValue::from_static("*/*");
    request.headers_mut().insert(ACCEPT, any);
    Ok(request)
}

/// A response that is read to its end leaves the connection open for the next call. If it is longer
/// than the limit, the rest is not read and the connection is closed.
async fn read(response: http::Response<Incoming>) -> Result<Response, OutboundError> {
    let status = response.status().as_u16();
    let ends_with_the_connection = ends_with_the_connection(response.headers());
    let mut incoming = response.into_body();
    let mut body = Vec::new();
    while body.len() < MAX_RESPONSE_BYTES {
        let frame = match incoming.frame().await {
            // Many servers end such a body by closing the connection without a word of TLS.
            Some(Err(_)) if ends_with_the_connection => break,
            None => break,
            Some(frame) => frame?,
        };
        let Some(piece) = frame.data_ref() else {
            continue;
        };
        let room = MAX_RESPONSE_BYTES - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
    }
    Ok(Response { status, body })
}

/// Whether nothing but the end of the connection says where the body ends.
fn ends_with_the_connection(headers: &HeaderMap) -> bool {
    !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_machine_without_authorities_starts_and_says_why_it_calls_nobody() {
        let resolver = Arc::new(SystemResolver::new().unwrap());
        let guard = Guard::new(resolver, &[]);
        let outbound = Outbound::trusting(RootCertStore::empty(), guard).unwrap();
        let url = EndpointUrl::RULE.check("https://8.8.8.8/").unwrap();
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        let fault = outbound.post(&url, headers, body, Duration::ZERO).await;
        let told = fault.unwrap_err().to_string();
        assert!(told.contains("has no certificate authorities"), "{told}");
    }
}
