//! /v1/admin/payouts: transfers to workers that failed permanently.

use axum::extract::State;

use crate::api::App;
use crate::api::admin::decisions::proposals::ProposalBody;
use crate::api::admin::{AdminPost, ItemNote, decisions};
use crate::api::error::ApiError;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::store::Tx;
use crate::usecases::{self, Unsent};
use crate::views::task::TaskBody;

/// Retry a failed payout
#[utoipa::path(
    post, path = "/v1/admin/payouts/{id}/retry", tag = "Admin", operation_id = "retryPayout",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader), request_body = ItemNote,
    responses((status = 200, description = "The task", body = TaskBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::TaskNotFound, errors::PayoutNotFailed, errors::ItemClaimed)
)]
pub async fn retry(
    State(app): State<App>,
    path: TaskPath,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let (ItemNote { note }, id, by) = (post.read()?, path.id()?, post.by());
    let work =
        move |tx: &mut Tx<'_>, now| usecases::retry_payout(tx, id, note.as_deref(), &by, now);
    post.once(&app).run(work, TaskBody::json).await
}

/// Write off a failed payout
///
/// The payout will never be transferred. What is owed moves from the worker's balance to the
/// platform. The payment processor is asked first: a transfer that was made cannot be written off.
/// Retry it, and it is recorded. Above a limit of the operator, it is proposed, and another admin confirms
/// it by sending the same.
#[utoipa::path(
    post, path = "/v1/admin/payouts/{id}/write_off", tag = "Admin",
    operation_id = "writeOffPayout", params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader), request_body = ItemNote,
    responses((status = 200, description = "The task", body = TaskBody),
        (status = 202, description = "It waits for a second admin", body = ProposalBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::TaskNotFound, errors::PayoutNotFailed, errors::ItemClaimed,
        errors::PaymentUnavailable, errors::ProposalPending)
)]
pub async fn write_off(
    State(app): State<App>,
    path: TaskPath,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let ItemNote { note } = post.read()?;
    decisions::close(&app, (&Unsent::PAYOUT, path.id()?), note, post).await
}
