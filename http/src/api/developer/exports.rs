//! /v1/account/export

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::exports;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::idempotency::Post;
use crate::api::response::exports::{ExportBody, ExportList};
use crate::api::response::json::JsonResponse;
use crate::domain::people::Person;

/// Ask for a copy of your data
///
/// Everything that is held about the account, live and test, as ZIP files with JSON, CSV and the
/// files of proofs. You are told when it is ready; it is kept for 7 days. One at a time, three a day.
#[utoipa::path(
    post, path = "/v1/account/export", tag = "Account", operation_id = "requestExport",
    params(IdempotencyKeyHeader),
    responses((status = 201, description = "The export is being made", body = ExportBody),
        groups::Developer, groups::Body, groups::Idempotency, errors::ExportUnderWay,
        errors::TooManyExports)
)]
pub async fn request(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let person = Person::Account(caller.owner().account);
    exports::request(&app, person, caller.requester(), post).await
}

/// List copies of your data
///
/// Those of the last 7 days, newest first, with fresh URLs.
#[utoipa::path(
    get, path = "/v1/account/export", tag = "Account", operation_id = "listExports",
    responses((status = 200, description = "The exports", body = ExportList), groups::Developer)
)]
pub async fn list(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    let person = Person::Account(caller.owner().account);
    exports::list(&app, person).await
}
