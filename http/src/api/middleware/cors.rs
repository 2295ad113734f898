//! Which web pages of other hosts may call the API (Cross-Origin Resource Sharing).
//!
//! Pages of the origins that the operator has named may, with tokens of workers. An API key in a page of
//! another host is refused: whoever opens the page can read it.

use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::around::Next;
use crate::api::middleware::client_address::noted_on;
use crate::api::middleware::limits::anonymous::{count, refuse};
use crate::domain::accounts::api_key::is_api_key;

/// What pages of other hosts may call. They do not need our own pages.
const PATHS: [&str; 2] = ["/v1/", "/files/"];
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
/// Headers that pages may send.
const ALLOWED: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Tus-Resumable, Upload-Checksum, \
     Upload-Length, Upload-Metadata, Upload-Offset, X-Request-Id",
);
/// Headers that pages may read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Idempotent-Replayed, Location, RateLimit, RateLimit-Policy, Retry-After, Tus-Checksum-Algorithm, \
     Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Expires, Upload-Length, \
     Upload-Metadata, Upload-Offset, X-Request-Id",
);
/// How long a browser may remember what it may send, in seconds. None remembers it for longer.
const REMEMBERED: HeaderValue = HeaderValue::from_static("7200");

#[derive(Clone, Debug, Default)]
pub struct CorsRules {
    /// As browsers send them: `https://app.example.com`.
    pub origins: Vec<String>,
    /// Pages of other hosts may send API keys.
    pub keys: bool,
    /// Where the service's own pages are. A proxy may change the host of requests.
    pub own_url: String,
}

/// What a request asks for, as far as its origin matters.
pub struct Visit {
    /// The origin, if the operator has named it.
    allowed: Option<HeaderValue>,
    /// Whether the answer depends on the origin.
    varies: bool,
    kind: Kind,
}

enum Kind {
    Ordinary,
    /// A browser asks whether a page may send a request.
    Preflight,
    /// A page of another host sends an API key.
    ForeignKey,
}

impl Visit {
    pub fn of(rules: &CorsRules, request: &Request) -> Self {
        let path = request.uri().path();
        let is_open = PATHS.iter().any(|start| path.starts_with(start));
        let varies = is_open && !rules.origins.is_empty();
        let origin = request.headers().get(header::ORIGIN);
        let named = |origin: &&HeaderValue| {
            let mut origins = rules.origins.iter();
            origins.any(|named| named.as_bytes() == origin.as_bytes())
        };
        let allowed = origin.filter(|_| varies).filter(named).cloned();
        let kind = match origin {
            Some(_) if allowed.is_some() && is_preflight(request) => Kind::Preflight,
            Some(origin) if !rules.keys && has_api_key(request.headers()) => {
                match is_own(origin, &rules.own_url, request) {
                    true => Kind::Ordinary,
                    false => Kind::ForeignKey,
                }
            }
            _ => Kind::Ordinary,
        };
        Self {
            allowed,
            varies,
            kind,
        }
    }

    /// Answers a preflight and refuses a key before anybody is looked up. Both count as requests of a
    /// stranger.
    pub async fn run(&self, app: &App, request: Request, next: Next) -> Response {
        let client = noted_on(&request);
        match self.kind {
            Kind::Ordinary => next.run(request).await,
            Kind::Preflight => match count(app, client) {
                Ok(()) => preflight(),
                Err(error) => error.into_response(),
            },
            Kind::ForeignKey => {
                let error = count(app, client).err();
                let error = error.unwrap_or(ApiError::KeyInBrowser);
                refuse(error, request).await
            }
        }
    }

    /// Tells the browser that the page may read the answer.
    pub fn mark(self, headers: &mut HeaderMap) {
        if self.varies {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(origin) = self.allowed {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }
}

fn is_preflight(request: &Request) -> bool {
    let asks = header::ACCESS_CONTROL_REQUEST_METHOD;
    request.method() == Method::OPTIONS && request.headers().contains_key(asks)
}

fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED),
        (header::ACCESS_CONTROL_MAX_AGE, REMEMBERED),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

fn has_api_key(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::AUTHORIZATION).iter();
    let mut texts = values.filter_map(|value| value.to_str().ok());
    texts.any(|text| {
        let token = text.split_once(' ').map(|(_, token)| token.trim_start());
        token.is_some_and(is_api_key)
    })
}

/// Whether a request that changes something comes from one of our own pages. Browsers say where a request
/// comes from in one header, older ones in the other. Who says neither is no browser.
pub fn is_from_own_page(own_url: &str, request: &Request) -> bool {
    match request.headers().get("sec-fetch-site") {
        Some(site) => site == "same-origin" || site == "none",
        None => {
            let origin = request.headers().get(header::ORIGIN);
            origin.is_some_and(|origin| is_own(origin, own_url, request))
        }
    }
}

/// Whether the page is one of ours, by the host that the request names or by our own URL.
fn is_own(origin: &HeaderValue, own_url: &str, request: &Request) -> bool {
    let Some((scheme, host)) = origin.to_str().ok().and_then(|text| text.split_once("://")) else {
        return false;
    };
    let own = own_url.split_once("://").map(|(_, rest)| rest);
    let own = own.and_then(|rest| rest.split('/').next());
    let named = request.headers().get(header::HOST);
    let named = named.and_then(|value| value.to_str().ok());
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    let is_same = |other: &str| bare(scheme, host).eq_ignore_ascii_case(bare(scheme, other));
    [own, named.or(authority)]
        .into_iter()
        .flatten()
        .any(is_same)
}

/// A host without the port that its scheme has anyway.
fn bare<'a>(scheme: &str, host: &'a str) -> &'a str {
    let port = match scheme {
        "https" => ":443",
        _ => ":80",
    };
    host.strip_suffix(port).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn is_own_page(origin: &str, host: &str, own_url: &str) -> bool {
        let request = Request::builder().uri("/v1/tasks").header("host", host);
        let request = request.body(Body::empty()).unwrap();
        is_own(&HeaderValue::from_str(origin).unwrap(), own_url, &request)
    }

    #[test]
    fn a_page_is_ours_by_host_or_by_public_url() {
        let own = "https://legwork.example.com";
        for (origin, host) in [
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("https://legwork.example.com", "10.0.0.7:8080"),
            ("https://LEGWORK.example.com", "legwork.example.com"),
            ("https://other.example.com", "other.example.com:443"),
            ("http://other.example.com", "other.example.com:80"),
            ("http://[::1]:8080", "[::1]:8080"),
        ] {
            assert!(is_own_page(origin, host, own), "{origin} at {host}");
        }
        for (origin, host) in [
            ("null", "127.0.0.1:8080"),
            ("http://127.0.0.1:3000", "127.0.0.1:8080"),
            ("https://legwork.example.com.evil.example", "10.0.0.7"),
            ("https://evil-legwork.example.com", "10.0.0.7"),
            ("https://other.example.com", "legwork.example.com"),
            ("https://", "x"),
        ] {
            assert!(!is_own_page(origin, host, own), "{origin} at {host}");
        }
    }
}
