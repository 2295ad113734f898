//! POST /v1/tasks/{id}/proofs/{proof_id}/approve and /reject

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors};
use crate::api::request::fields::Fields;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::ProofPath;
use crate::api::response::json::Answer;
use crate::domain::{ProofStatus, Status, Timestamp, proofs};
use crate::usecases::{self, Reviewed};
use crate::views::examples::ProofExample;
use crate::views::to_json;

#[derive(Serialize, ToSchema)]
#[schema(example = json!(ProofExample::Approved.value()))]
pub struct ApprovedProof {
    id: String,
    status: ProofStatus,
    #[schema(required, value_type = String, format = DateTime)]
    reviewed_at: Option<Timestamp>,
    task: CompletedTask,
}

#[derive(Serialize, ToSchema)]
struct CompletedTask {
    id: String,
    status: Status,
    #[schema(required, value_type = String, format = DateTime)]
    completed_at: Option<Timestamp>,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(ProofExample::Rejected.value()))]
pub struct RejectedProof {
    id: String,
    status: ProofStatus,
    #[schema(required, value_type = String)]
    rejection_reason: Option<String>,
    #[schema(required, value_type = String, format = DateTime)]
    reviewed_at: Option<Timestamp>,
    task: RejectedTask,
}

#[derive(Serialize, ToSchema)]
struct RejectedTask {
    id: String,
    /// `proof_rejected`, or `refunded` after the last attempt.
    status: Status,
    attempts_remaining: i64,
}

/// Approve a proof
///
/// And with it the whole attempt: the task is completed, the worker is paid.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/proofs/{proof_id}/approve", tag = "Proofs",
    operation_id = "approveProof",
    params(("id" = String, Path, description = "Task id"),
        ("proof_id" = String, Path, description = "Proof id"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is completed", body = ApprovedProof),
        errors::Common, errors::Body, errors::Idempotency, errors::ProofNotFound,
        errors::InvalidTaskStateOrInFlight)
)]
pub async fn approve(
    State(app): State<App>,
    caller: Caller,
    path: ProofPath,
    post: Post,
) -> Result<Answer, ApiError> {
    post.expect_no_fields()?;
    let (holder, (task, proof)) = (caller.holder, path.ids()?);
    let render = |Reviewed { proof, task }: &Reviewed| {
        to_json(&ApprovedProof {
            id: proof.id.to_string(),
            status: proof.status,
            reviewed_at: proof.reviewed_at,
            task: CompletedTask {
                id: task.id.to_string(),
                status: task.status,
                completed_at: task.completed_at,
            },
        })
    };
    Idempotent::new(&app, caller.requester(), post)
        .run(
            move |tx, now| usecases::approve_proof(tx, &holder, task, proof, now),
            render,
        )
        .await
}

/// Why, in words for the worker.
#[derive(ToSchema)]
#[schema(example = json!({"reason": "The opening hours cannot be read."}))]
#[allow(dead_code, reason = "documents the body that `reject` reads")]
pub struct RejectProof {
    #[schema(
        min_length = 1,
        max_length = 2000,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
    )]
    reason: String,
}

/// Reject a proof
///
/// And with it the whole attempt. The worker may try again, three times in all; after the third
/// rejection the budget is refunded.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/proofs/{proof_id}/reject", tag = "Proofs",
    operation_id = "rejectProof",
    params(("id" = String, Path, description = "Task id"),
        ("proof_id" = String, Path, description = "Proof id"), IdempotencyKeyHeader),
    request_body = RejectProof,
    responses((status = 200, description = "The attempt is rejected", body = RejectedProof),
        errors::Common, errors::Body, errors::Idempotency, errors::ProofNotFound,
        errors::InvalidTaskStateOrInFlight)
)]
pub async fn reject(
    State(app): State<App>,
    caller: Caller,
    path: ProofPath,
    post: Post,
) -> Result<Answer, ApiError> {
    let mut fields = Fields::of(&post.body);
    let reason = fields.text("reason", proofs::reason);
    fields.finish()?;
    let reason = reason.ok_or_else(|| ApiError::invalid("reason", "is required"))?;
    let (holder, (task, proof)) = (caller.holder, path.ids()?);
    let render = |reviewed: &Reviewed| {
        let Reviewed { proof, task } = reviewed;
        to_json(&RejectedProof {
            id: proof.id.to_string(),
            status: proof.status,
            rejection_reason: proof.rejection_reason.clone(),
            reviewed_at: proof.reviewed_at,
            task: RejectedTask {
                id: task.id.to_string(),
                status: task.status,
                attempts_remaining: reviewed.attempts_remaining(),
            },
        })
    };
    Idempotent::new(&app, caller.requester(), post)
        .run(
            move |tx, now| usecases::reject_proof(tx, &holder, task, proof, &reason, now),
            render,
        )
        .await
}
