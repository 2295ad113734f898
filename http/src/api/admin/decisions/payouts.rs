//! /v1/admin/payouts: transfers to workers that failed permanently.

use axum::extract::State;

use crate::api::App;
use crate::api::admin::decisions::proposals::{self, ProposalBody};
use crate::api::admin::{AdminPost, ItemNote};
use crate::api::error::ApiError;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::processor::with_timeout;
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::domain::{OutgoingKind, TaskId};
use crate::payments::Look;
use crate::store::Tx;
use crate::usecases::{self, UseCaseError};
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
    let (id, by, four_eyes) = (path.id()?, post.by(), app.four_eyes);
    let work = move |tx: &mut Tx<'_>, now, (): &()| {
        usecases::write_off_payout(tx, id, note.as_deref(), (&by, four_eyes), now)
    };
    let asked = was_not_made(&app, id);
    let request = post.once(&app).prepare(asked);
    request.run_with_status(work, proposals::answer).await
}

/// Asks the processor whether the transfer was made after all.
async fn was_not_made(app: &App, id: TaskId) -> Result<(), ApiError> {
    let processor = app.payments.processor.clone();
    let name = processor.name();
    let read = app
        .store
        .read(move |tx| usecases::payout_to_write_off(tx, id, name));
    let Some(transfer) = read.await? else {
        return Ok(());
    };
    let look = processor.look(OutgoingKind::Transfer, &transfer);
    match with_timeout(app, look).await? {
        // A retry finds it and records it.
        Look::Made(_) => Err(UseCaseError::PayoutNotFailed.into()),
        Look::NotMade { .. } => Ok(()),
    }
}
