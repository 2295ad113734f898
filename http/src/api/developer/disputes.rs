//! /v1/tasks/{id}/dispute: what both sides say, and the decision.

use axum::extract::State;
use serde_json::json;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::domain::tasks::dispute;
use crate::usecases::{self, UseCaseError};
use crate::views::task::dispute::DisputeBody;
use crate::views::to_json;

/// Get the dispute about a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}/dispute", tag = "Tasks", operation_id = "getDispute",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "The dispute", body = DisputeBody),
        groups::Developer, errors::TaskNotFound, errors::DisputeNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
) -> Result<JsonResponse, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let dispute = app.store.read(move |tx| {
        let task = tx.task_of(owner, id)?.ok_or(UseCaseError::TaskNotFound)?;
        usecases::dispute_of(tx, task.id)
    });
    JsonResponse::ok(&DisputeBody::of(id, dispute.await?))
}

pub struct StateSide {
    statement: String,
}

impl RequestBody for StateSide {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let statement = fields
            .doc("Your side. The worker and the admins read it.")
            .text("statement", &dispute::STATEMENT);
        Some(Self {
            statement: statement?,
        })
    }
}

request_bodies! {
    StateSide = json!({"statement": "The sign in the photo belongs to the shop next door."});
}

/// State your side of a dispute
///
/// Before it is decided. A later statement replaces an earlier one.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/dispute/statement", tag = "Tasks", operation_id = "stateSide",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    request_body = StateSide,
    responses((status = 200, description = "The dispute", body = DisputeBody),
        groups::Developer, groups::Body, groups::Idempotency, errors::TaskNotFound,
        errors::InvalidTaskState)
)]
pub async fn state(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let StateSide { statement } = post.read()?;
    let (holder, id) = (caller.holder, path.id()?);
    Idempotent::new(&app, caller.requester(), post)
        .run(
            move |tx, now| {
                let dispute = usecases::state_side(tx, &holder, id, &statement, now)?;
                Ok((id, dispute))
            },
            |(id, dispute)| to_json(&DisputeBody::of(*id, dispute.clone())),
        )
        .await
}
