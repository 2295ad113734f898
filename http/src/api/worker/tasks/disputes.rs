//! GET /v1/worker/tasks/{id}/dispute

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::usecases;
use crate::views::task::dispute::DisputeBody;

/// Get the dispute about one of your tasks
#[utoipa::path(
    get, path = "/v1/worker/tasks/{id}/dispute", tag = "Workers", operation_id = "getOwnDispute",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "The dispute", body = DisputeBody),
        groups::Worker, errors::TaskNotFound, errors::DisputeNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
) -> Result<JsonResponse, ApiError> {
    let (worker, id) = (caller.worker.id, path.id()?);
    let dispute = app.store.read(move |tx| {
        let task = usecases::own_task(tx, worker, id)?;
        usecases::dispute_of(tx, task.id)
    });
    JsonResponse::ok(&DisputeBody::of(id, dispute.await?))
}
