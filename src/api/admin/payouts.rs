//! /v1/admin/payouts: transfers to workers that failed permanently.

use axum::extract::{Request, State};

use crate::api::App;
use crate::api::admin::expect_no_fields;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::processor::with_timeout;
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::domain::{Actor, OutgoingKind, Task, TaskId, Timestamp};
use crate::store::Tx;
use crate::usecases::{self, UseCaseError};
use crate::views::task::TaskBody;

type Decision = fn(&mut Tx<'_>, TaskId, &Actor, Timestamp) -> Result<Task, UseCaseError>;

async fn decide(
    app: &App,
    admin: AdminCaller,
    path: TaskPath,
    decision: Decision,
) -> Result<JsonResponse, ApiError> {
    let (id, by, clock) = (path.id()?, admin.by(), app.clock.clone());
    let decided = app
        .store
        .write(move |tx| decision(tx, id, &by, clock.now()));
    JsonResponse::ok(&TaskBody::of(&decided.await?)?)
}

/// Retry a failed payout
#[utoipa::path(
    post, path = "/v1/admin/payouts/{id}/retry", tag = "Admin", operation_id = "retryPayout",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "The task", body = TaskBody),
        groups::Admin, groups::Body, errors::TaskNotFound, errors::PayoutNotFailed, errors::ItemClaimed)
)]
pub async fn retry(
    State(app): State<App>,
    admin: AdminCaller,
    path: TaskPath,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    expect_no_fields(&app, request).await?;
    decide(&app, admin, path, usecases::retry_payout).await
}

/// Write off a failed payout
///
/// The payout will never be transferred. What is owed moves from the worker's balance to the
/// platform. The payment processor is asked first: a transfer that was made cannot be written off.
/// Retry it, and it is recorded.
#[utoipa::path(
    post, path = "/v1/admin/payouts/{id}/write_off", tag = "Admin",
    operation_id = "writeOffPayout", params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "The task", body = TaskBody),
        groups::Admin, groups::Body, errors::TaskNotFound, errors::PayoutNotFailed, errors::ItemClaimed,
        errors::PaymentUnavailable)
)]
pub async fn write_off(
    State(app): State<App>,
    admin: AdminCaller,
    path: TaskPath,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    expect_no_fields(&app, request).await?;
    let (id, processor) = (path.id()?, app.payments.processor.clone());
    let name = processor.name();
    let read = app
        .store
        .read(move |tx| usecases::payout_to_write_off(tx, id, name));
    let transfer = read.await?;
    let made = processor.find_made(OutgoingKind::Transfer, &transfer);
    if with_timeout(&app, made).await?.is_some() {
        // A retry finds it and records it.
        return Err(UseCaseError::PayoutNotFailed.into());
    }
    decide(&app, admin, path, usecases::write_off_payout).await
}
