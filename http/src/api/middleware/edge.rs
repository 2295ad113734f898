//! The outermost layer: every request passes here on its way in, every answer on its way out.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use axum::body::HttpBody;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use metrics::{Counter, Histogram, counter, histogram};
use tracing::field::display;

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::error::codes::ErrorCode;
use crate::api::error::refused::Told;
use crate::api::middleware::around::Next;
use crate::api::middleware::checks::host;
use crate::api::middleware::client_address::client_of;
use crate::api::middleware::cors::Visit;
use crate::api::middleware::limits::anonymous;
use crate::api::middleware::limits::log::Caller;
use crate::api::middleware::notes::{Asker, Notes, Who};
use crate::api::middleware::{headers, span};
use crate::api::request::body::room::Claim;
use crate::domain::accounts::request_log::{LONGEST_PATH, LoggedRequest};
use crate::domain::{AccountId, AdminKeyId, RequestId, WorkerId};
use crate::limits::ClientAddress;
use crate::store;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// So long no answer to an agent is without pictures.
const PICTURES: u64 = 256 << 10;
const MAX_REQUEST_ID_BYTES: usize = 200;
/// For a year, browsers use nothing but HTTPS.
const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");
/// Operators filter the log by it, so it stays when this file moves.
const LOG_TARGET: &str = "legwork::api::edge";

/// Gives the request its ID and its client's address, renders errors and panics, counts and logs.
pub async fn edge(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let client = client_of(&request, &app.trusted_proxies);
    request.extensions_mut().insert(client);
    Claim::put_on(&mut request, &app.bodies, client);
    let request_id = request_id(request.headers(), &app);
    let (method, version) = (request.method().clone(), request.version());
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let span = app
        .tracer
        .as_ref()
        .map(|to| span::begin(to, &request, route));
    let visit = Visit::of(&app.cors, &request);
    let (notes, request) = Notes::begin(request, request_id.clone());
    let mut response = match host::check(&request) {
        Ok(()) => {
            let served = visit.run(&app, request, next);
            AssertUnwindSafe(store::within(app.timeouts.request, served))
                .catch_unwind()
                .await
                .unwrap_or_else(|_| ApiError::Panicked.into_response())
        }
        // No route has counted it.
        Err(error) => anonymous::count(&app, client)
            .err()
            .unwrap_or(error)
            .into_response(),
    };
    if let Some(asker) = notes.asker() {
        // Only what has pictures is as long as that, and is of a tool that reads.
        let has_pictures = route == "/mcp" && response.body().size_hint().lower() >= PICTURES;
        let has_acted = !method.is_safe() && !has_pictures;
        let kept = app.answers.keep(response, asker.who, has_acted);
        response = kept.unwrap_or_else(IntoResponse::into_response);
    }
    let error = response.extensions().get::<ApiError>();
    let code = error.map(|error| error.code().as_str());
    let cause = match response.extensions_mut().remove::<ApiError>() {
        Some(error) if response.extensions().get::<Told>().is_some() => error.cause(),
        Some(error) => {
            response = rendered(&error, response, &request_id);
            error.cause()
        }
        None => None,
    };
    let headers = response.headers_mut();
    headers::set(route, &app.page_policy, headers);
    visit.mark(headers);
    mark(&app, version, &request_id, headers);
    if let Some(span) = span {
        let request_id = request_id.to_str().unwrap_or_default();
        span::end(span, response.status(), request_id);
    }
    let exchange = Exchange {
        request_id: request_id.to_str().unwrap_or_default(),
        method: &method,
        path: &path,
        route,
        code,
        status: response.status(),
        elapsed: started.elapsed(),
        client,
        notes: &notes,
        sent_bytes: response.body().size_hint().exact(),
    };
    exchange.tell(&app, cause);
    response
}

/// Sets what every answer of this server has.
fn mark(app: &App, version: Version, request_id: &HeaderValue, headers: &mut HeaderMap) {
    if app.hsts {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HTTPS_ONLY);
    }
    // A proxy that keeps connections lets go of them before the listener closes.
    if app.shutdown.is_draining() && version < Version::HTTP_2 {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(REQUEST_ID, request_id.clone());
}

/// The ID that was sent, if it fits into a header and a log line, or a new one.
fn request_id(headers: &HeaderMap, app: &App) -> HeaderValue {
    let fit = |value: &&HeaderValue| {
        (1..=MAX_REQUEST_ID_BYTES).contains(&value.len()) && value.to_str().is_ok()
    };
    match headers.get(REQUEST_ID).filter(fit) {
        Some(value) => value.clone(),
        None => {
            let id = RequestId::new(app.clock.now(), &ambient::random_for_id());
            HeaderValue::try_from(id.to_string()).unwrap_or(HeaderValue::from_static("none"))
        }
    }
}

/// The response of an error, with the headers that were already set (rate limit, Allow).
fn rendered(error: &ApiError, unrendered: Response, request_id: &HeaderValue) -> Response {
    let mut response = error.render(request_id.to_str().unwrap_or_default());
    for (name, value) in unrendered.headers() {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            response.headers_mut().insert(name.clone(), value.clone());
        }
    }
    response
}

/// A request and its answer, for the log.
struct Exchange<'a> {
    request_id: &'a str,
    method: &'a Method,
    path: &'a str,
    /// Of an error.
    code: Option<&'static str>,
    route: &'a str,
    status: StatusCode,
    elapsed: Duration,
    client: ClientAddress,
    notes: &'a Notes,
    /// Not known of a stream, which has only begun.
    sent_bytes: Option<u64>,
}

impl Exchange<'_> {
    /// Tells the metrics, the account and the log.
    fn tell(&self, app: &App, cause: Option<String>) {
        let method = known_method(self.method);
        count(method, self.route, self.status, self.elapsed);
        if let Some(left_out) = self.left_out(app) {
            self.note(app);
            self.log(cause, left_out);
        }
    }

    /// How many requests like this one the log has left out before it. None if this one is left out as well: past its
    /// limit a caller costs a bounded amount of log and database.
    fn left_out(&self, app: &App) -> Option<u64> {
        if self.code != Some(ErrorCode::RateLimited.as_str()) {
            return Some(0);
        }
        let who = self.notes.asker().map(|asker| asker.who);
        let caller = Caller::of(who, self.client);
        app.log_limits.line(caller, Instant::now())
    }

    /// For the account to look at.
    fn note(&self, app: &App) {
        let Some(Who::Key(owner, key)) = self.notes.asker().map(|asker| asker.who) else {
            return;
        };
        if !app.request_log.is_on() {
            return;
        }
        let at = app.clock.now();
        let is_whole = |end: &usize| self.path.is_char_boundary(*end);
        let end = (0..=LONGEST_PATH.min(self.path.len())).rev().find(is_whole);
        app.request_log.note(|| LoggedRequest {
            id: app.request_log.next_id(at),
            owner,
            key,
            method: known_method(self.method).to_owned(),
            path: self.path[..end.unwrap_or(0)].to_owned(),
            status: self.status.as_u16().into(),
            code: self.code.map(str::to_owned),
            duration_us: i64::try_from(self.elapsed.as_micros()).unwrap_or(i64::MAX),
            request_id: self.request_id.to_owned(),
            created_at: at,
        });
    }

    fn log(&self, cause: Option<String>, left_out: u64) {
        let Self {
            request_id,
            method,
            route,
            ..
        } = *self;
        let (status, micros) = (self.status.as_u16(), self.elapsed.as_micros() as u64);
        let client = display(self.client);
        let asker = self.notes.asker();
        let account = asker.and_then(account).map(display);
        let worker = asker.and_then(worker).map(display);
        let admin = asker.and_then(admin).map(display);
        let key = asker.map(|asker| asker.key_prefix.as_str());
        let (bytes_in, bytes_out) = (self.notes.received_bytes(), self.sent_bytes);
        let left_out = (left_out > 0).then_some(left_out);
        match cause {
            Some(cause) => {
                tracing::error!(target: LOG_TARGET, request_id, %method, route, status, micros, client,
                    account, worker, admin, key, bytes_in, bytes_out, left_out, cause, "request failed");
            }
            None => {
                tracing::info!(target: LOG_TARGET, request_id, %method, route, status, micros, client,
                    account, worker, admin, key, bytes_in, bytes_out, left_out, "request");
            }
        }
    }
}

/// Tells of requests that were left out of the log and that no line of their sender has told.
pub fn tell_left_out(left_out: u64) {
    if left_out > 0 {
        tracing::info!(target: LOG_TARGET, left_out, "more requests");
    }
}

fn account(asker: &Asker) -> Option<AccountId> {
    match asker.who {
        Who::Account(id) => Some(id),
        Who::Key(owner, _) => Some(owner.account),
        _ => None,
    }
}

fn worker(asker: &Asker) -> Option<WorkerId> {
    match asker.who {
        Who::Worker(id) => Some(id),
        _ => None,
    }
}

fn admin(asker: &Asker) -> Option<AdminKeyId> {
    match asker.who {
        Who::Admin(id) => Some(id),
        _ => None,
    }
}

/// The metrics of one method and status, by route.
type ByRoute = HashMap<String, OfRoute>;

struct OfRoute {
    requests: Counter,
    seconds: Histogram,
}

impl OfRoute {
    fn add(&self, elapsed: Duration) {
        self.requests.increment(1);
        self.seconds.record(elapsed.as_secs_f64());
    }
}

fn count(method: &'static str, route: &str, status: StatusCode, elapsed: Duration) {
    thread_local! {
        /// Looking up a metric by its labels costs more than counting.
        static KNOWN: RefCell<HashMap<(&'static str, u16), ByRoute>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        let by_route = known.entry((method, status.as_u16())).or_default();
        if let Some(metrics) = by_route.get(route) {
            return metrics.add(elapsed);
        }
        let metrics = register(method, route, status);
        metrics.add(elapsed);
        by_route.insert(route.to_owned(), metrics);
    });
}

fn register(method: &'static str, route: &str, status: StatusCode) -> OfRoute {
    let labels = [
        ("method", method.to_owned()),
        ("route", route.to_owned()),
        ("status", status.as_str().to_owned()),
    ];
    OfRoute {
        requests: counter!("legwork_requests_total", &labels),
        seconds: histogram!("legwork_request_seconds", &labels[..2]),
    }
}

/// Clients can invent methods; the number of metrics must not grow with them.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
