//! GET /v1/worker/tasks and /v1/worker/tasks/{id}

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::api::request::query::PageQuery;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::OffsetList;
use crate::domain::tasks::{Category, MAX_PROOF_ATTEMPTS, Priority, ProofType, Skill};
use crate::domain::{Status, Task, Timestamp};
use crate::usecases;
use crate::views::{Id, examples};

type OwnTaskList = OffsetList<OwnTask>;

/// A task that the worker has taken, with all that it takes to do it.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(OwnTask::example()))]
pub struct OwnTask {
    #[schema(value_type = Id)]
    id: String,
    title: String,
    description: String,
    #[schema(required)]
    instructions: Option<String>,
    category: Category,
    required_skills: Vec<Skill>,
    #[schema(required)]
    location_address: Option<String>,
    location_city: String,
    location_state: String,
    location_latitude: f64,
    location_longitude: f64,
    worker_payout_cents: i64,
    priority: Priority,
    status: Status,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    deadline: Option<Timestamp>,
    proof_types: Vec<ProofType>,
    max_proof_attempts: i64,
    attempts_used: i64,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    assigned_at: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    completed_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl OwnTask {
    fn example() -> Self {
        examples::assigned().task.into()
    }
}

impl From<Task> for OwnTask {
    fn from(task: Task) -> Self {
        Self {
            id: task.id.to_string(),
            worker_payout_cents: task.split().payout_cents,
            title: task.title,
            description: task.description,
            instructions: task.instructions,
            category: task.category,
            required_skills: task.required_skills,
            location_address: task.location.address,
            location_city: task.location.city,
            location_state: task.location.state,
            location_latitude: task.location.latitude,
            location_longitude: task.location.longitude,
            priority: task.priority,
            status: task.status,
            deadline: task.deadline,
            proof_types: task.proof_types,
            max_proof_attempts: MAX_PROOF_ATTEMPTS,
            attempts_used: task.proof_attempts,
            assigned_at: task.assigned_at,
            started_at: task.started_at,
            completed_at: task.completed_at,
            updated_at: task.updated_at,
        }
    }
}

/// List your tasks
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/worker/tasks", tag = "Workers", operation_id = "listOwnTasks",
    params(("limit" = inline(Option<parameters::PageLimit>), Query, description = "Page size. More than 100 is served as 100"),
        ("offset" = inline(Option<parameters::PageOffset>), Query, description = "How many objects to skip")),
    responses((status = 200, description = "The worker's tasks, newest first", body = OwnTaskList),
        groups::Worker, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: WorkerCaller,
    PageQuery(page): PageQuery,
) -> Result<JsonResponse, ApiError> {
    let worker = caller.worker.id;
    let (tasks, total) = app
        .store
        .snapshot(move |tx| tx.tasks_of_worker(worker, page.limit, page.offset))
        .await?;
    JsonResponse::ok(&page.list(tasks.into_iter().map(OwnTask::from).collect(), total))
}

/// Get one of your tasks
///
/// Includes its instructions and exact address.
#[utoipa::path(
    get, path = "/v1/worker/tasks/{id}", tag = "Workers", operation_id = "getOwnTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "The task, with its instructions", body = OwnTask),
        groups::Worker, errors::TaskNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
) -> Result<JsonResponse, ApiError> {
    let (worker, id) = (caller.worker.id, path.id()?);
    let task = app
        .store
        .read(move |tx| usecases::own_task(tx, worker, id))
        .await?;
    JsonResponse::ok(&OwnTask::from(task))
}
