//! /v1/admin/refunds: refunds that failed permanently.

use axum::extract::State;

use crate::api::App;
use crate::api::admin::decisions::proposals::ProposalBody;
use crate::api::admin::review_queue::AddNote;
use crate::api::admin::{AdminPost, decisions};
use crate::api::error::ApiError;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::usecases::Unsent;
use crate::views::task::TaskBody;

/// Settle a failed refund
///
/// You have paid the developer in another way: the note says how. What is owed moves to the platform, which
/// keeps what the payment processor has. The processor is asked first: a refund that was made cannot be settled.
/// Retry its job, and it is recorded. Above a limit of the operator, it is proposed, and another admin confirms
/// it by sending the same.
#[utoipa::path(
    post, path = "/v1/admin/refunds/{id}/settle", tag = "Admin",
    operation_id = "settleRefund", params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader), request_body = AddNote,
    responses((status = 200, description = "The task", body = TaskBody),
        (status = 202, description = "It waits for a second admin", body = ProposalBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::TaskNotFound, errors::RefundNotFailed, errors::ItemClaimed,
        errors::PaymentUnavailable, errors::ProposalPending)
)]
pub async fn settle(
    State(app): State<App>,
    path: TaskPath,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let AddNote { note } = post.read()?;
    decisions::close(&app, (&Unsent::REFUND, path.id()?), Some(note), post).await
}
