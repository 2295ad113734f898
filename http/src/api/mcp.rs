//! `/mcp`: the Model Context Protocol over HTTP. Its tools call the routes beside it, in this process and with the caller's key.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any_service, get};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower_service::Service;

use crate::ambient;
use crate::api::error::ApiError;
use crate::api::middleware::around::{Next, around};
use crate::api::middleware::authentication::{Caller, require_key};
use crate::api::middleware::edge::edge;
use crate::api::middleware::limits::anonymous::limit_anonymous;
use crate::api::request::body;
use crate::api::server::Peer;
use crate::api::{App, JSON};
use crate::domain::AccountId;
use crate::domain::accounts::mandate::Needs;
use crate::mcp::{Answer, Connect, Reach, http_service, readable, too_large};
use crate::shutdown::Shutdown;
use crate::usecases::UseCaseError;

/// More than any answer of the API that a tool asks for.
const LARGEST_ANSWER: usize = 16 << 20;
/// How many calls of an account are in progress at once in this process. Those that wait take up to 50 seconds.
const MOST_CALLS: usize = 64;

/// What says who asks.
const PASSED_ON: [HeaderName; 4] = [
    header::AUTHORIZATION,
    header::HOST,
    header::FORWARDED,
    HeaderName::from_static("x-forwarded-for"),
];

pub fn mount(router: Router, app: &App) -> Router {
    let service = http_service(Arc::new(Local {
        router: router.clone(),
        shutdown: app.shutdown.clone(),
        review: app.scheduler.windows().review,
    }));
    // Every key may speak; what its tools may do is asked at each of their calls.
    let needs = (app.clone(), Needs::Nothing);
    let route = any_service(service)
        .layer(around(app.clone(), read_first))
        .layer(around(needs, require_key))
        .layer(around(app.clone(), name_metadata))
        .layer(around(app.clone(), edge));
    let metadata = Router::new()
        .route(METADATA, get(metadata))
        // Where clients look that go by the path of the resource.
        .route(METADATA_OF_PATH, get(metadata))
        .route_layer(around(app.clone(), limit_anonymous))
        .layer(around(app.clone(), edge))
        .with_state(app.clone());
    router.route("/mcp", route).merge(metadata)
}

const METADATA: &str = "/.well-known/oauth-protected-resource";
const METADATA_OF_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// What the resource is and how it takes a key (RFC 9728). It names no authorization server: keys are made in the dashboard.
async fn metadata(State(app): State<App>) -> impl IntoResponse {
    let url = app.own_url();
    let metadata = json!({
        "resource": format!("{url}/mcp"),
        "resource_name": "Legwork",
        "bearer_methods_supported": ["header"],
        "resource_documentation": format!("{url}/docs"),
    });
    ([(header::CONTENT_TYPE, JSON)], metadata.to_string())
}

/// Whoever comes without a key is told where the metadata is.
async fn name_metadata(State(app): State<App>, request: Request<Body>, next: Next) -> Response {
    let mut response = next.run(request).await;
    let error = response.extensions().get::<ApiError>();
    if matches!(error, Some(ApiError::UseCase(UseCaseError::Unauthorized))) {
        let named = format!("Bearer resource_metadata=\"{}{METADATA}\"", app.own_url());
        if let Ok(value) = HeaderValue::from_str(&named) {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, value);
        }
    }
    response
}

/// The crate answers 415 to a body that it cannot read, and waits for one as long as it takes. So it gets only messages that
/// have come, and whoever sent another one is told what is wrong with it, in the protocol's own form.
async fn read_first(State(app): State<App>, request: Request<Body>, next: Next) -> Response {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if request.method() != Method::POST || !is_json {
        return next.run(request).await;
    }
    // Each holds its message while it waits, and its body before.
    let caller = request.extensions().get::<Caller>();
    let account = caller.map(|caller| caller.holder.owner.account);
    let place = account.map(|account| app.mcp_calls.take(account, MOST_CALLS));
    if matches!(place, Some(None)) {
        let retry_after_seconds = 5;
        let error = ApiError::RateLimited {
            retry_after_seconds,
        };
        return body::refuse(error, request).await.into_response();
    }
    let (parts, body) = request.into_parts();
    let refused = |status: StatusCode, told: Value| {
        (status, [(header::CONTENT_TYPE, JSON)], told.to_string()).into_response()
    };
    let body = match body::received(&parts.extensions, body, &app).await {
        Ok(body) => body,
        Err(ApiError::BodyTooLarge { limit }) => {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, too_large(limit));
        }
        Err(error) => return error.into_response(),
    };
    let message = readable(&body);
    // The crate reads the message, not the body.
    drop(body);
    match message {
        Ok(message) => {
            let request = Request::from_parts(parts, Body::from(message));
            let answer = next.run(request).await;
            // A call that tells of its progress goes on while its answer is read.
            answer.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    let _held = &place;
                    frame
                }))
            })
        }
        Err(told) => refused(StatusCode::BAD_REQUEST, told),
    }
}

struct Local {
    router: Router,
    shutdown: Shutdown,
    review: Duration,
}

impl Connect for Local {
    fn api(&self, request: Option<&Parts>) -> Option<Arc<dyn Reach>> {
        let parts = request?;
        let key = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let mut headers = HeaderMap::new();
        for name in PASSED_ON {
            for value in parts.headers.get_all(&name) {
                headers.append(name.clone(), value.clone());
            }
        }
        // HTTP/2 names the host elsewhere.
        if let (None, Some(host)) = (headers.get(header::HOST), parts.uri.authority()) {
            headers.insert(header::HOST, HeaderValue::from_str(host.as_str()).ok()?);
        }
        Some(Arc::new(Asking {
            router: self.router.clone(),
            shutdown: self.shutdown.clone(),
            is_test: key.contains("svc_test_"),
            account: (parts.extensions.get::<Caller>()).map(|caller| caller.owner().account),
            headers,
            peer: parts.extensions.get::<Peer>().copied(),
        }))
    }

    fn time_to_review(&self) -> Option<Duration> {
        Some(self.review)
    }
}

struct Asking {
    router: Router,
    shutdown: Shutdown,
    headers: HeaderMap,
    peer: Option<Peer>,
    is_test: bool,
    account: Option<AccountId>,
}

impl Asking {
    async fn ask(&self, method: &str, path: &str, body: Body) -> Option<(bool, Vec<u8>)> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .body(body)
            .ok()?;
        request.headers_mut().extend(self.headers.clone());
        if method == "POST" {
            let random: [u8; 16] = ambient::random();
            let key: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            request
                .headers_mut()
                .insert("idempotency-key", HeaderValue::from_str(&key).ok()?);
        }
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        let answer = match self.router.clone().call(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        let is_fine = answer.status().is_success();
        let bytes = to_bytes(answer.into_body(), LARGEST_ANSWER).await.ok()?;
        Some((is_fine, bytes.to_vec()))
    }
}

#[async_trait]
impl Reach for Asking {
    async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let unavailable =
            || json!({"code": "UNAVAILABLE", "message": "The answer could not be read."});
        let (is_fine, bytes) = self.ask(method, path, body).await.ok_or_else(unavailable)?;
        let mut answer: Value = serde_json::from_slice(&bytes).map_err(|_| unavailable())?;
        match is_fine {
            true => Ok(answer),
            false => Err(answer["error"].take()),
        }
    }

    /// Files that this server serves. Those of another host are linked, not fetched.
    async fn file(&self, url: &str, most: usize) -> Option<Vec<u8>> {
        let (_, rest) = url.split_once("://")?;
        let path = &rest[rest.find("/files/")?..];
        let (is_fine, bytes) = self.ask("GET", path, Body::empty()).await?;
        (is_fine && bytes.len() <= most).then_some(bytes)
    }

    fn is_test(&self) -> bool {
        self.is_test
    }

    fn account(&self) -> Option<AccountId> {
        self.account
    }

    async fn stopping(&self) {
        self.shutdown.started().await;
    }
}
