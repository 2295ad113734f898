//! GET /v1/tasks/{id}/dispute

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::usecases::{self, UseCaseError};
use crate::views::dispute::DisputeBody;

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
        usecases::dispute_of(tx, &task)
    });
    JsonResponse::ok(&DisputeBody::of(id, dispute.await?))
}
