//! POST /v1/tasks/{id}/cancel

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
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::domain::tasks::field;
use crate::domain::{Status, Task, Timestamp};
use crate::store::StoreError;
use crate::usecases;
use crate::views::{Id, examples, to_json};

#[derive(Serialize, ToSchema)]
#[schema(example = json!(CancelledTask::example()))]
pub struct CancelledTask {
    #[schema(value_type = Id)]
    id: String,
    status: Status,
    #[schema(required, value_type = String, format = DateTime)]
    cancelled_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl CancelledTask {
    fn of(task: &Task) -> Self {
        Self {
            id: task.id.to_string(),
            status: task.status,
            cancelled_at: task.cancelled_at,
            updated_at: task.updated_at,
        }
    }

    fn json(task: &Task) -> Result<String, StoreError> {
        to_json(&Self::of(task))
    }

    fn example() -> Self {
        Self::of(&examples::cancelled().task)
    }
}

/// Cancel a task
///
/// Refunds the whole budget before a worker is assigned, and half of it after. Not possible once
/// the work has started.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/cancel", tag = "Tasks", operation_id = "cancelTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    request_body = CancelTask,
    responses((status = 200, description = "The task is cancelled", body = CancelledTask),
        groups::Developer, groups::Body, groups::Idempotency, errors::TaskNotFound,
        errors::InvalidTaskState, errors::RefundDiffers)
)]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let CancelTask {
        expected_refund_cents,
    } = post.read()?;
    let (holder, id) = (caller.holder, path.id()?);
    Idempotent::new(&app, caller.requester(), post)
        .of_account(caller.owner().account)
        .run(
            move |tx, now| usecases::cancel_task(tx, &holder, id, expected_refund_cents, now),
            CancelledTask::json,
        )
        .await
}

/// What you expect of the cancel.
pub struct CancelTask {
    expected_refund_cents: Option<i64>,
}

impl RequestBody for CancelTask {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let expected_refund_cents = fields
            .doc("Cancel only if this is what goes back to you now.")
            .optional_integer("expected_refund_cents", &field::REFUND_CENTS);
        Some(Self {
            expected_refund_cents,
        })
    }
}

request_bodies! {
    /// What you expect of the cancel.
    CancelTask = json!({"expected_refund_cents": 2500});
}
