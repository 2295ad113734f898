//! /v1/worker/second_factor

use axum::extract::{Request, State};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::body;
use crate::api::request::idempotency::Post;
use crate::api::response::json::JsonResponse;
use crate::api::second_factor::{
    self, Asker, Code, RecoveryCodesBody, SecondFactorBody, SetupBody,
};
use crate::domain::{Actor, Person};
use crate::usecases;

fn asker(caller: &WorkerCaller) -> Asker {
    Asker {
        holder: Person::Worker(caller.worker.id),
        label: caller.worker.email.clone(),
        by: Actor::worker(caller.worker.id),
        given: caller.session.second_factor,
        requester: caller.requester(),
    }
}

/// Get your second factor
#[utoipa::path(
    get, path = "/v1/worker/second_factor", tag = "Workers", operation_id = "getSecondFactor",
    responses((status = 200, description = "How it stands", body = SecondFactorBody), groups::Worker)
)]
pub async fn get(State(app): State<App>, caller: WorkerCaller) -> Result<JsonResponse, ApiError> {
    second_factor::status(&app, Person::Worker(caller.worker.id)).await
}

/// Begin to set up a second factor
///
/// Needs a sign-in of the last 10 minutes. Add the secret to an authenticator app, then confirm
/// with a code. Until then nothing changes.
#[utoipa::path(
    post, path = "/v1/worker/second_factor", tag = "Workers", operation_id = "beginSecondFactor",
    params(IdempotencyKeyHeader),
    responses((status = 201, description = "What to add to the app", body = SetupBody),
        groups::Worker, groups::Body, groups::Idempotency, errors::SecondFactorOn, errors::SignInAgain)
)]
pub async fn begin(
    State(app): State<App>,
    caller: WorkerCaller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    usecases::check_recent_sign_in(caller.session.signed_in_at, app.clock.now())?;
    second_factor::begin(&app, asker(&caller), post).await
}

/// Turn on your second factor
///
/// From now on you sign in with your password and a code. Keep the recovery codes: each replaces a
/// code once.
#[utoipa::path(
    post, path = "/v1/worker/second_factor/confirm", tag = "Workers",
    operation_id = "confirmSecondFactor", params(IdempotencyKeyHeader), request_body = Code,
    responses((status = 200, description = "The recovery codes", body = RecoveryCodesBody),
        groups::Worker, groups::Body, groups::Idempotency, errors::InvalidCode,
        errors::SecondFactorOff, errors::SecondFactorOn)
)]
pub async fn confirm(
    State(app): State<App>,
    caller: WorkerCaller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let session = Some(caller.token.clone());
    second_factor::confirm(&app, asker(&caller), session, post).await
}

/// Replace your recovery codes
#[utoipa::path(
    post, path = "/v1/worker/second_factor/recovery_codes", tag = "Workers",
    operation_id = "replaceRecoveryCodes", params(IdempotencyKeyHeader), request_body = Code,
    responses((status = 201, description = "The recovery codes", body = RecoveryCodesBody),
        groups::Worker, groups::Body, groups::Idempotency, errors::InvalidCode,
        errors::SecondFactorOff)
)]
pub async fn new_codes(
    State(app): State<App>,
    caller: WorkerCaller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    second_factor::new_codes(&app, asker(&caller), post).await
}

/// Turn off your second factor
#[utoipa::path(
    delete, path = "/v1/worker/second_factor", tag = "Workers", operation_id = "turnOffSecondFactor",
    request_body = Code,
    responses((status = 200, description = "How it stands", body = SecondFactorBody),
        groups::Worker, groups::Body, errors::InvalidCode, errors::SecondFactorOff)
)]
pub async fn turn_off(
    State(app): State<App>,
    caller: WorkerCaller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let code: Code = body::required_json(request, &app).await?;
    second_factor::turn_off(&app, asker(&caller), code).await
}
