//! The dispute about a task, as its developer and its worker see it.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::answer::Answer;
use super::authentication::{Caller, WorkerCaller};
use super::error::ApiError;
use super::openapi::errors;
use super::openapi_examples::AdminExample;
use super::path::TaskPath;
use crate::domain::{Decision, Dispute, TaskId, Timestamp};
use crate::usecases::{self, Refusal};

/// What the worker says, and how it was decided.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(AdminExample::Dispute.value()))]
pub struct DisputeBody {
    task_id: String,
    /// Why the worker contests the rejection.
    #[schema(required)]
    statement: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    opened_at: Timestamp,
    /// Null while nobody has decided.
    #[schema(required)]
    decision: Option<Decision>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    decided_at: Option<Timestamp>,
    /// Why it was decided like that.
    #[schema(required)]
    note: Option<String>,
}

impl DisputeBody {
    fn of(task: TaskId, dispute: Dispute) -> Self {
        let verdict = dispute.verdict;
        Self {
            task_id: task.to_string(),
            statement: dispute.statement,
            opened_at: dispute.opened_at,
            decision: verdict.as_ref().map(|verdict| verdict.decision),
            decided_at: verdict.as_ref().map(|verdict| verdict.decided_at),
            note: verdict.and_then(|verdict| verdict.note),
        }
    }
}

/// Get the dispute about a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}/dispute", tag = "Tasks", operation_id = "getDispute",
    params(("id" = String, Path, description = "Task id")),
    responses((status = 200, description = "The dispute", body = DisputeBody),
        errors::Common, errors::DisputeNotFound)
)]
pub async fn of_developer(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
) -> Result<Answer, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let dispute = app.store.read(move |tx| {
        let task = tx.task_of(owner, id)?.ok_or(Refusal::TaskNotFound)?;
        usecases::dispute_of(tx, &task)
    });
    Answer::ok(&DisputeBody::of(id, dispute.await?))
}

/// Get the dispute about an own task
#[utoipa::path(
    get, path = "/v1/worker/tasks/{id}/dispute", tag = "Workers", operation_id = "getOwnDispute",
    params(("id" = String, Path, description = "Task id")),
    responses((status = 200, description = "The dispute", body = DisputeBody),
        errors::Common, errors::DisputeNotFound)
)]
pub async fn of_worker(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
) -> Result<Answer, ApiError> {
    let (worker, id) = (caller.worker.id, path.id()?);
    let dispute = app.store.read(move |tx| {
        let task = tx.any_task(id)?;
        let task = task.filter(|task| task.worker == Some(worker) && task.is_live());
        usecases::dispute_of(tx, &task.ok_or(Refusal::TaskNotFound)?)
    });
    Answer::ok(&DisputeBody::of(id, dispute.await?))
}
