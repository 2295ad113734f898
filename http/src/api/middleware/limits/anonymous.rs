//! Requests a minute for callers without a key, by address. Requests with a wrong key count as well:
//! otherwise keys could be guessed without limit. Requests with a key that opens something never count, so
//! that nobody is locked out by a stranger who shares the address.

use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::around::Next;
use crate::api::middleware::client_address::noted_on;
use crate::api::request::body;
use crate::limits::{ClientAddress, Limiter, Network};
use crate::usecases::UseCaseError;

const REQUESTS: u32 = 600;
const WINDOW: Duration = Duration::from_secs(60);

pub struct AnonymousLimit(Limiter<Network>);

impl Default for AnonymousLimit {
    fn default() -> Self {
        Self(Limiter::new(REQUESTS, WINDOW))
    }
}

impl AnonymousLimit {
    pub fn count(&self, client: ClientAddress) -> Result<(), ApiError> {
        Ok(self.0.count(client.network(), Instant::now())?)
    }

    pub fn forget_idle(&self) {
        self.0.forget_idle(Instant::now());
    }
}

/// Runs before every handler that needs no key.
pub async fn limit_anonymous(State(app): State<App>, request: Request, next: Next) -> Response {
    match count(&app, noted_on(&request)) {
        Ok(()) => next.run(request).await,
        Err(error) => refuse(error, request).await,
    }
}

/// Runs around handlers that check a signature: it is as good as a key, and a wrong one counts.
pub async fn limit_unsigned(State(app): State<App>, request: Request, next: Next) -> Response {
    let client = noted_on(&request);
    let response = next.run(request).await;
    if !response.status().is_client_error() {
        return response;
    }
    match count(&app, client) {
        Ok(()) => response,
        Err(error) => error.into_response(),
    }
}

/// Counts a request of a stranger, unless limits are off.
pub fn count(app: &App, client: ClientAddress) -> Result<(), ApiError> {
    match &app.anonymous {
        Some(limit) => limit.count(client),
        None => Ok(()),
    }
}

/// Answers whoever has no key for this. A wrong one counts as a request of a stranger, and so does one of a suspended
/// account, which is good for nothing either.
pub async fn turn_away(app: &App, error: ApiError, request: Request) -> Response {
    let is_stranger = matches!(
        error,
        ApiError::UseCase(UseCaseError::Unauthorized | UseCaseError::AccountSuspended)
    );
    let client = request.extensions().get::<ClientAddress>().copied();
    let error = match client.filter(|_| is_stranger) {
        Some(client) => count(app, client).err().unwrap_or(error),
        None => error,
    };
    refuse(error, request).await
}

/// In a box, so that requests that pass do not carry the room for it.
pub fn refuse(error: ApiError, request: Request) -> BoxFuture<'static, Response> {
    Box::pin(async move { body::refuse(error, request).await.into_response() })
}
