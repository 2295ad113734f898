//! POST /v1/tasks/{id}/proofs/{proof_id}/approve and /reject

use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::ProofPath;
use crate::api::response::json::JsonResponse;
use crate::domain::{Proof, ProofStatus, Status, TaskId, Timestamp, proofs};
use crate::usecases::{self, Reviewed, UseCaseError};
use crate::views::{Id, examples, to_json};

#[derive(Serialize, ToSchema)]
#[schema(example = json!(ApprovedProof::example()))]
pub struct ApprovedProof {
    #[schema(value_type = Id)]
    id: String,
    status: ProofStatus,
    #[schema(required, value_type = String, format = DateTime)]
    reviewed_at: Option<Timestamp>,
    task: CompletedTask,
}

#[derive(Serialize, ToSchema)]
struct CompletedTask {
    #[schema(value_type = Id)]
    id: String,
    status: Status,
    #[schema(required, value_type = String, format = DateTime)]
    completed_at: Option<Timestamp>,
}

impl ApprovedProof {
    fn of(Reviewed { proof, task }: &Reviewed) -> Self {
        Self {
            id: proof.id.to_string(),
            status: proof.status,
            reviewed_at: proof.reviewed_at,
            task: CompletedTask {
                id: task.id.to_string(),
                status: task.status,
                completed_at: task.completed_at,
            },
        }
    }

    fn example() -> Self {
        Self::of(&Reviewed {
            proof: Proof {
                status: ProofStatus::Approved,
                reviewed_at: Some(examples::REVIEWED),
                ..examples::proof()
            },
            task: examples::completed().task,
        })
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(RejectedProof::example()))]
pub struct RejectedProof {
    #[schema(value_type = Id)]
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
    #[schema(value_type = Id)]
    id: String,
    /// `proof_rejected`, or `refunded` after the last attempt.
    status: Status,
    attempts_remaining: i64,
}

impl RejectedProof {
    fn of(reviewed: &Reviewed) -> Self {
        let Reviewed { proof, task } = reviewed;
        Self {
            id: proof.id.to_string(),
            status: proof.status,
            rejection_reason: proof.rejection_reason.clone(),
            reviewed_at: proof.reviewed_at,
            task: RejectedTask {
                id: task.id.to_string(),
                status: task.status,
                attempts_remaining: reviewed.attempts_remaining(),
            },
        }
    }

    fn example() -> Self {
        Self::of(&Reviewed {
            proof: Proof {
                status: ProofStatus::Rejected,
                rejection_reason: Some(examples::REASON.to_owned()),
                reviewed_at: Some(examples::REVIEWED),
                ..examples::proof()
            },
            task: examples::rejected().task,
        })
    }
}

/// Approve a proof
///
/// Approves the whole attempt: the task is completed and the worker is paid.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/proofs/{proof_id}/approve", tag = "Proofs",
    operation_id = "approveProof",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        ("proof_id" = inline(parameters::ProofId), Path, description = "Proof ID"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is completed", body = ApprovedProof),
        groups::Developer, groups::Body, groups::Idempotency, errors::TaskNotFound, errors::ProofNotFound,
        errors::InvalidTaskState, errors::MandateExceeded)
)]
pub async fn approve(
    State(app): State<App>,
    caller: Caller,
    path: ProofPath,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let (holder, (task, proof)) = (caller.holder, path.ids()?);
    let render = |reviewed: &Reviewed| to_json(&ApprovedProof::of(reviewed));
    let reviewed = Idempotent::new(&app, caller.requester(), post)
        .of_account(caller.owner().account)
        .run(
            move |tx, now| usecases::approve_proof(tx, &holder, task, proof, now),
            render,
        )
        .await;
    tell_if_refused(&app, &caller, task, reviewed).await
}

/// The owner learns that proof waits for a person.
async fn tell_if_refused(
    app: &App,
    caller: &Caller,
    task: TaskId,
    reviewed: Result<JsonResponse, ApiError>,
) -> Result<JsonResponse, ApiError> {
    if let Err(ApiError::UseCase(UseCaseError::MandateExceeded(_))) = &reviewed {
        let (owner, clock) = (caller.owner(), app.clock.clone());
        app.store
            .write(move |tx| usecases::tell_of_review(tx, owner, task, clock.now()))
            .await?;
    }
    reviewed
}

pub struct RejectProof {
    reason: String,
}

impl RequestBody for RejectProof {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let reason = fields
            .doc("Shown to the worker.")
            .text("reason", &proofs::REASON);
        Some(Self { reason: reason? })
    }
}

request_bodies! {
    RejectProof = json!({"reason": "The opening hours cannot be read."});
}

/// Reject a proof
///
/// Rejects the whole attempt. The worker has three attempts in all; after the third rejection the
/// budget is refunded.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/proofs/{proof_id}/reject", tag = "Proofs",
    operation_id = "rejectProof",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        ("proof_id" = inline(parameters::ProofId), Path, description = "Proof ID"), IdempotencyKeyHeader),
    request_body = RejectProof,
    responses((status = 200, description = "The attempt is rejected", body = RejectedProof),
        groups::Developer, groups::Body, groups::Idempotency, errors::TaskNotFound, errors::ProofNotFound,
        errors::InvalidTaskState, errors::MandateExceeded)
)]
pub async fn reject(
    State(app): State<App>,
    caller: Caller,
    path: ProofPath,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let RejectProof { reason } = post.read()?;
    let (holder, (task, proof)) = (caller.holder, path.ids()?);
    let render = |reviewed: &Reviewed| to_json(&RejectedProof::of(reviewed));
    let reviewed = Idempotent::new(&app, caller.requester(), post)
        .of_account(caller.owner().account)
        .run(
            move |tx, now| usecases::reject_proof(tx, &holder, task, proof, &reason, now),
            render,
        )
        .await;
    tell_if_refused(&app, &caller, task, reviewed).await
}
