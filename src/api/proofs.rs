//! /v1/tasks/{id}/proofs: what workers have sent, and what the developer makes of it.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::answer::Answer;
use super::authentication::Caller;
use super::error::ApiError;
use super::fields::Fields;
use super::idempotency::{Keep, Post, once};
use super::openapi::{IdempotencyKeyHeader, PageLimit, PageOffset, errors};
use super::openapi_examples::ProofExample;
use super::path::{ProofPath, TaskPath};
use super::query::{Meta, PageQuery};
use crate::domain::proof;
use crate::domain::{Proof, ProofStatus, Status, Timestamp};
use crate::files::FileKey;
use crate::objects::proof::ProofBody;
use crate::objects::to_json;
use crate::store::StoreError;
use crate::usecases::{self, Refusal, Reviewed};

/// A proof with a fresh URL of its file.
pub async fn with_file(app: &App, proof: Proof) -> Result<ProofBody, ApiError> {
    let unreadable = || StoreError::Failed(format!("the file of {} has no key", proof.id));
    let key = FileKey::parse(&proof.file.key).ok_or_else(unreadable)?;
    let file_url = app
        .files
        .signed_url(key, &proof.file.content_type, app.clock.now())
        .await?;
    Ok(ProofBody::of(proof, file_url)?)
}

pub async fn with_files(app: &App, proofs: Vec<Proof>) -> Result<Vec<ProofBody>, ApiError> {
    let mut bodies = Vec::with_capacity(proofs.len());
    for proof in proofs {
        bodies.push(with_file(app, proof).await?);
    }
    Ok(bodies)
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(ProofExample::List.value()))]
pub struct ProofList {
    data: Vec<ProofBody>,
    meta: Meta,
}

/// List the proofs of a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}/proofs", tag = "Proofs", operation_id = "listProofs",
    params(("id" = String, Path, description = "Task id"),
        ("limit" = inline(Option<PageLimit>), Query, description = "Page size, 20 when left out"),
        ("offset" = inline(Option<PageOffset>), Query, description = "How many to skip")),
    responses((status = 200, description = "The proofs, oldest first", body = ProofList),
        errors::Common, errors::Query, errors::TaskNotFound)
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    PageQuery(page): PageQuery,
) -> Result<Answer, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let (proofs, total) = app
        .store
        .snapshot(move |tx| {
            tx.task_of(owner, id)?.ok_or(Refusal::TaskNotFound)?;
            Ok::<_, Refusal>(tx.proofs_of(id, page.limit, page.offset)?)
        })
        .await?;
    Answer::ok(&ProofList {
        data: with_files(&app, proofs).await?,
        meta: page.meta(total),
    })
}

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
    once(
        &app,
        &caller.asker(),
        post,
        StatusCode::OK,
        Keep::Plain,
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
    let reason = fields.text("reason", proof::reason);
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
    once(
        &app,
        &caller.asker(),
        post,
        StatusCode::OK,
        Keep::Plain,
        move |tx, now| usecases::reject_proof(tx, &holder, task, proof, &reason, now),
        render,
    )
    .await
}
