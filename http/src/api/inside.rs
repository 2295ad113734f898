//! The API for callers in this process. The pages ask it what programs ask over HTTP, so both get the same
//! rules, limits and answers.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower_service::Service;

use crate::api::App;
use crate::api::developer::tasks::{read, search};
use crate::api::error::ApiError;
use crate::api::middleware::authentication::{AdminHolder, Caller, worker_of};
use crate::api::middleware::notes::{Who, note_asker};
use crate::api::request::body;
use crate::api::request::query::TaskListQuery;
use crate::api::request::search::SearchQuery;
use crate::api::router::described_routes;
use crate::domain::{AccountId, AdminKeyId, ApiKeyId, Environment, Owner, Secret, Tier, WorkerId};
use crate::store::{KeyHolder, TaskPage, Visitor};
use crate::usecases::{AdminVisitor, SearchedPage, UseCaseError, authenticate};

pub use crate::api::error::refused::Refused;
pub use crate::api::middleware::authentication::WorkerCaller;
pub use crate::api::middleware::incoming::{Incoming, TakesPages};
pub use crate::api::response::page::Page;

/// What the API answers at most. Files are not among it.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// Every described route of the API, without the layer that answers HTTP.
#[derive(Clone)]
pub struct Inside(Router);

/// Who asks.
#[derive(Clone, Debug)]
pub enum Asker {
    /// A person who is signed in, in one environment.
    Developer(Caller),
    /// An admin who is signed in.
    Admin(AdminHolder),
    /// A worker who is signed in.
    Worker(WorkerCaller),
    /// Whoever has this token.
    Token(Secret),
    Nobody,
}

/// A request to the API.
#[derive(Debug)]
pub struct Ask {
    method: Method,
    target: String,
    body: Body,
    headers: HeaderMap,
}

/// What the API reads of a request that is passed on to it.
const PASSED: [HeaderName; 8] = [
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("tus-resumable"),
    HeaderName::from_static("upload-length"),
    HeaderName::from_static("upload-metadata"),
    HeaderName::from_static("upload-offset"),
    HeaderName::from_static("upload-checksum"),
];

impl Ask {
    /// `target` is a path with its query.
    pub fn get(target: impl Into<String>) -> Self {
        Self::new(Method::GET, target)
    }

    pub fn post(target: impl Into<String>, body: Value) -> Self {
        Self::new(Method::POST, target).with(body)
    }

    pub fn put(target: impl Into<String>, body: Value) -> Self {
        Self::new(Method::PUT, target).with(body)
    }

    pub fn delete(target: impl Into<String>) -> Self {
        Self::new(Method::DELETE, target)
    }

    pub fn patch(target: impl Into<String>, body: Value) -> Self {
        Self::new(Method::PATCH, target).with(body)
    }

    fn new(method: Method, target: impl Into<String>) -> Self {
        Self {
            method,
            target: target.into(),
            body: Body::empty(),
            headers: HeaderMap::new(),
        }
    }

    /// A request of a browser, passed on to another path. Its body is not read here: it streams through.
    pub fn passing(request: Request, target: impl Into<String>) -> Self {
        let (parts, body) = request.into_parts();
        let mut ask = Self::new(parts.method, target);
        for name in PASSED {
            if let Some(value) = parts.headers.get(&name) {
                ask.headers.insert(name, value.clone());
            }
        }
        Self { body, ..ask }
    }

    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn with(mut self, body: Value) -> Self {
        self.body = Body::from(body.to_string());
        self
    }

    /// A stream goes on after this event.
    pub fn after_event(self, id: Option<&str>) -> Self {
        self.header("last-event-id", id.unwrap_or_default())
    }

    /// Takes effect once: the Idempotency-Key of a form.
    pub fn once(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    /// Nothing that is empty, or that no header can hold.
    fn header(mut self, name: &'static str, value: &str) -> Self {
        if !value.is_empty()
            && let Ok(value) = HeaderValue::try_from(value)
        {
            self.headers.insert(name, value);
        }
        self
    }
}

impl Inside {
    pub fn new(app: &App) -> Self {
        Self(described_routes(app).with_state(app.clone()))
    }

    /// Asks, and reads the answer.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        asker: &Asker,
        incoming: &Incoming,
        ask: Ask,
    ) -> Result<T, Refused> {
        let text = self.text(asker, incoming, ask).await?;
        serde_json::from_slice(&text).map_err(|error| unreadable(&error))
    }

    /// Asks, and answers with the JSON text.
    pub async fn text(
        &self,
        asker: &Asker,
        incoming: &Incoming,
        ask: Ask,
    ) -> Result<Bytes, Refused> {
        let response = self.response(asker, incoming, ask).await?;
        let read = axum::body::to_bytes(response.into_body(), MAX_ANSWER_BYTES).await;
        read.map_err(|error| unreadable(&error))
    }

    /// Asks, and answers with what may be a stream.
    pub async fn response(
        &self,
        asker: &Asker,
        incoming: &Incoming,
        ask: Ask,
    ) -> Result<Response, Refused> {
        let request = request(asker, incoming, ask).map_err(|error| unreadable(&error))?;
        self.answer(request).await
    }

    /// Sends the body of a form with files to the API as it comes, and asks as above.
    pub async fn pass_on(
        &self,
        asker: &Asker,
        incoming: &Incoming,
        target: &str,
        form: Request,
    ) -> Result<Response, Refused> {
        let ask = Ask::new(form.method().clone(), target);
        let request = request(asker, incoming, ask).map_err(|error| unreadable(&error))?;
        let (mut parts, _) = request.into_parts();
        for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
            if let Some(value) = form.headers().get(&name) {
                parts.headers.insert(name, value.clone());
            }
        }
        self.answer(Request::from_parts(parts, form.into_body()))
            .await
    }

    async fn answer(&self, request: Request) -> Result<Response, Refused> {
        let mut router = self.0.clone();
        let Ok(mut response) = router.call(request).await;
        match response.extensions_mut().remove::<ApiError>() {
            Some(error) => Err(error.into()),
            None => Ok(response),
        }
    }
}

fn request(asker: &Asker, incoming: &Incoming, ask: Ask) -> Result<Request, axum::http::Error> {
    let mut request = Request::builder().method(ask.method).uri(ask.target);
    if let Some(headers) = request.headers_mut() {
        *headers = ask.headers;
    }
    if let Some(agent) = &incoming.user_agent {
        request = request.header(header::USER_AGENT, agent);
    }
    let body = ask.body;
    let mut request = match asker {
        Asker::Token(token) => {
            let value = HeaderValue::try_from(format!("Bearer {}", token.expose()))?;
            request.header(header::AUTHORIZATION, value).body(body)?
        }
        Asker::Developer(_) | Asker::Admin(_) | Asker::Worker(_) | Asker::Nobody => {
            request.body(body)?
        }
    };
    let extensions = request.extensions_mut();
    extensions.insert(incoming.client);
    if let Some(notes) = &incoming.notes {
        extensions.insert(notes.clone());
    }
    if let Some(claim) = &incoming.claim {
        extensions.insert(claim.clone());
    }
    match asker {
        Asker::Developer(caller) => drop(extensions.insert(caller.clone())),
        Asker::Admin(holder) => drop(extensions.insert(holder.clone())),
        Asker::Worker(caller) => drop(extensions.insert(caller.clone())),
        Asker::Token(_) | Asker::Nobody => {}
    }
    Ok(request)
}

fn unreadable(error: &dyn std::fmt::Display) -> Refused {
    let reason = format!("an answer for a page: {error}");
    UseCaseError::from(crate::store::StoreError::Failed(reason)).into()
}

/// A page of the list of tasks: what `GET /v1/tasks` finds for this query. Lists are what people look at most, so this
/// one is not written as JSON to be read again.
pub async fn tasks(app: &App, asker: &Asker, query: &str) -> Result<(Page, TaskPage), Refused> {
    let query = TaskListQuery::read(query).map_err(ApiError::Validation)?;
    let page = query.page;
    Ok((page, read::find(app, caller(asker)?, query).await?))
}

/// The same of `GET /v1/tasks/search`.
pub async fn search(app: &App, asker: &Asker, query: &str) -> Result<SearchedPage, Refused> {
    let query = SearchQuery::read(query).map_err(ApiError::Validation)?;
    Ok(search::find(app, caller(asker)?, query).await?)
}

/// As `require_key` has it: only developers have tasks.
fn caller(asker: &Asker) -> Result<&Caller, ApiError> {
    match asker {
        Asker::Developer(caller) => Ok(caller),
        Asker::Admin(_) | Asker::Worker(_) | Asker::Token(_) | Asker::Nobody => {
            Err(UseCaseError::Unauthorized.into())
        }
    }
}

/// Somebody who is signed in calls the API as the holder of all rights, without a key.
pub fn developer(
    app: &App,
    visitor: &Visitor,
    environment: Environment,
    token: &Secret,
) -> Result<Asker, Refused> {
    let account = &visitor.account;
    let is_test = environment == Environment::Test;
    let holder = KeyHolder {
        key: ApiKeyId::of_account(account.id),
        owner: Owner {
            account: account.id,
            environment,
        },
        tier: account.tier,
        status: account.status,
        email_confirmed: account.email_confirmed || !app.sends_mail,
        ahead: if is_test {
            visitor.test_ahead
        } else {
            Duration::ZERO
        },
        is_confined: false,
        limits: None,
    };
    let holder = authenticate(Some(holder))?;
    Ok(Asker::Developer(Caller::new(holder, token.clone())))
}

/// An admin who is signed in calls the API as the holder of the key that the session belongs to.
pub fn admin(visitor: &AdminVisitor, token: &Secret) -> Asker {
    Asker::Admin(AdminHolder {
        key: visitor.key.clone(),
        token: token.clone(),
        second_factor: visitor.session.second_factor,
    })
}

/// The worker whose token this is, if it is still good.
pub async fn worker(app: &App, token: Secret) -> Result<Option<WorkerCaller>, Refused> {
    match worker_of(app, token).await {
        Ok(caller) => Ok(Some(caller)),
        Err(ApiError::UseCase(UseCaseError::Unauthorized)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Writes into the log who sent a request.
pub fn note_account(request: &mut Request, account: AccountId, token: &Secret) {
    note_asker(request, Who::Account(account), token);
}

pub fn note_admin(request: &mut Request, admin: AdminKeyId, token: &Secret) {
    note_asker(request, Who::Admin(admin), token);
}

pub fn note_worker(request: &mut Request, worker: WorkerId, token: &Secret) {
    note_asker(request, Who::Worker(worker), token);
}

/// The bytes of a form. Forms share the room in which the API reads bodies.
pub async fn read_form(
    request: &Extensions,
    body: Body,
    limit: usize,
    within: Duration,
) -> Result<Bytes, Refused> {
    Ok(body::read_at_most(request, body, limit, within).await?)
}

/// Counts a request of a stranger.
pub fn count_stranger(app: &App, incoming: &Incoming) -> Result<(), Refused> {
    let counted = crate::api::middleware::limits::anonymous::count(app, incoming.client);
    Ok(counted?)
}

/// Counts a page that a developer asks for. What the page then asks of the API does not count again.
pub async fn count_page(app: &App, account: AccountId, tier: Tier) -> Result<(), Refused> {
    match &app.rate_limits {
        Some(limits) => Ok(limits.count_page(account, tier).await.1?),
        None => Ok(()),
    }
}

/// Whether a form that changes something was sent from one of our own pages.
pub fn is_own_page(app: &App, request: &Request) -> bool {
    crate::api::middleware::cors::is_from_own_page(&app.cors.own_url, request)
}
