//! /v1/admin/second_factor

use axum::extract::{Request, State};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminHolder;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::body;
use crate::api::request::idempotency::Post;
use crate::api::response::json::JsonResponse;
use crate::api::second_factor::{
    self, Asker, Code, RecoveryCodesBody, SecondFactorBody, SetupBody,
};
use crate::domain::{Actor, Person};

fn asker(caller: &AdminHolder) -> Asker {
    Asker {
        holder: Person::Admin(caller.key.id),
        label: format!("admin {}", caller.key.name),
        by: Actor::admin(caller.key.id),
        given: caller.second_factor,
        requester: caller.requester(),
    }
}

/// Get the second factor of your key
#[utoipa::path(
    get, path = "/v1/admin/second_factor", tag = "Admin", operation_id = "getAdminSecondFactor",
    responses((status = 200, description = "How it stands", body = SecondFactorBody), groups::Admin)
)]
pub async fn get(State(app): State<App>, caller: AdminHolder) -> Result<JsonResponse, ApiError> {
    second_factor::status(&app, Person::Admin(caller.key.id)).await
}

/// Begin to set up a second factor for your key
///
/// Add the secret to an authenticator app, then confirm with a code. Until then nothing changes.
#[utoipa::path(
    post, path = "/v1/admin/second_factor", tag = "Admin", operation_id = "beginAdminSecondFactor",
    params(IdempotencyKeyHeader),
    responses((status = 201, description = "What to add to the app", body = SetupBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::SecondFactorOn)
)]
pub async fn begin(
    State(app): State<App>,
    caller: AdminHolder,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    second_factor::begin(&app, asker(&caller), post).await
}

/// Turn on the second factor of your key
///
/// Keep the recovery codes: each replaces a code once.
#[utoipa::path(
    post, path = "/v1/admin/second_factor/confirm", tag = "Admin",
    operation_id = "confirmAdminSecondFactor", params(IdempotencyKeyHeader), request_body = Code,
    responses((status = 200, description = "The recovery codes", body = RecoveryCodesBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::InvalidCode,
        errors::SecondFactorOff, errors::SecondFactorOn)
)]
pub async fn confirm(
    State(app): State<App>,
    caller: AdminHolder,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    second_factor::confirm(&app, asker(&caller), None, post).await
}

/// Replace the recovery codes of your key
#[utoipa::path(
    post, path = "/v1/admin/second_factor/recovery_codes", tag = "Admin",
    operation_id = "replaceAdminRecoveryCodes", params(IdempotencyKeyHeader), request_body = Code,
    responses((status = 201, description = "The recovery codes", body = RecoveryCodesBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::InvalidCode,
        errors::SecondFactorOff)
)]
pub async fn new_codes(
    State(app): State<App>,
    caller: AdminHolder,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    second_factor::new_codes(&app, asker(&caller), post).await
}

/// Turn off the second factor of your key
///
/// Ends all sessions of the key.
#[utoipa::path(
    delete, path = "/v1/admin/second_factor", tag = "Admin",
    operation_id = "turnOffAdminSecondFactor", request_body = Code,
    responses((status = 200, description = "How it stands", body = SecondFactorBody),
        groups::Admin, groups::Body, errors::InvalidCode, errors::SecondFactorOff)
)]
pub async fn turn_off(
    State(app): State<App>,
    caller: AdminHolder,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let code: Code = body::required_json(request, &app).await?;
    second_factor::turn_off(&app, asker(&caller), code).await
}
