//! /v1/worker/export

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::exports;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::idempotency::Post;
use crate::api::response::exports::{ExportBody, ExportList};
use crate::api::response::json::JsonResponse;
use crate::domain::people::Person;
use crate::usecases;

/// Ask for a copy of your data
///
/// Everything that is held about you, as ZIP files with JSON, CSV, your documents and the
/// files that you sent. You are told when it is ready; it is kept for 7 days. One at a time, three a day.
/// Needs a sign-in of the last 10 minutes, because identity documents are in it.
#[utoipa::path(
    post, path = "/v1/worker/export", tag = "Workers", operation_id = "requestWorkerExport",
    params(IdempotencyKeyHeader),
    responses((status = 201, description = "The export is being made", body = ExportBody),
        groups::Worker, groups::Body, groups::Idempotency, errors::ExportUnderWay,
        errors::TooManyExports, errors::SignInAgain)
)]
pub async fn request(
    State(app): State<App>,
    caller: WorkerCaller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    usecases::check_recent_sign_in(caller.session.signed_in_at, app.clock.now())?;
    let person = Person::Worker(caller.worker.id);
    exports::request(&app, person, caller.requester(), post).await
}

/// List copies of your data
///
/// Those of the last 7 days, newest first, with fresh URLs. Needs a sign-in of the last 10 minutes.
#[utoipa::path(
    get, path = "/v1/worker/export", tag = "Workers", operation_id = "listWorkerExports",
    responses((status = 200, description = "The exports", body = ExportList), groups::Worker,
        errors::SignInAgain)
)]
pub async fn list(State(app): State<App>, caller: WorkerCaller) -> Result<JsonResponse, ApiError> {
    usecases::check_recent_sign_in(caller.session.signed_in_at, app.clock.now())?;
    let person = Person::Worker(caller.worker.id);
    exports::list(&app, person).await
}
