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
use crate::api::worker::tasks::record::DeveloperRecordBody;
use crate::domain::tasks::{Category, MAX_PROOF_ATTEMPTS, Priority, ProofType, Skill};
use crate::domain::{DeveloperRecord, DueAction, Status, Timestamp, Windows};
use crate::usecases::{self, UseCaseError};
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
    /// What approved proof pays.
    worker_payout_cents: i64,
    /// What you earned with it, transferred or not; null until the task is over. Less than
    /// `worker_payout_cents` if it was cancelled or split, 0 if it paid nothing.
    #[schema(required)]
    earned_cents: Option<i64>,
    priority: Priority,
    status: Status,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    deadline: Option<Timestamp>,
    proof_types: Vec<ProofType>,
    max_proof_attempts: i64,
    attempts_used: i64,
    attempts_left: i64,
    /// Why your last attempt that was rejected was rejected.
    #[schema(required)]
    last_rejection_reason: Option<String>,
    /// How the developer has dealt with work so far; null while there is too little to tell.
    #[schema(required)]
    developer: Option<DeveloperRecordBody>,
    /// When time decides, if nothing else happens before; null when the task is over.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    due_at: Option<Timestamp>,
    /// What becomes of the task then.
    #[schema(required)]
    due_action: Option<DueAction>,
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
        let own = usecases::OwnTask {
            task: examples::assigned().task,
            last_rejection: None,
            record: DeveloperRecord::default(),
            earned_cents: None,
        };
        Self::of(own, &Windows::default())
    }

    pub fn of(own: usecases::OwnTask, windows: &Windows) -> Self {
        let usecases::OwnTask {
            task,
            last_rejection,
            record,
            earned_cents,
        } = own;
        let due = task.due(windows);
        Self {
            id: task.id.to_string(),
            worker_payout_cents: task.split().payout_cents,
            earned_cents,
            attempts_left: task.attempts_left(),
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
            last_rejection_reason: last_rejection,
            developer: DeveloperRecordBody::of(&record, windows),
            due_at: due.map(|due| due.at),
            due_action: due.map(|due| due.action),
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
    params(parameters::OffsetPage),
    responses((status = 200, description = "The worker's tasks, newest first", body = OwnTaskList),
        groups::Worker, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: WorkerCaller,
    PageQuery(page): PageQuery,
) -> Result<JsonResponse, ApiError> {
    let worker = caller.worker.id;
    let read = app.store.snapshot(move |tx| {
        let (tasks, total) = tx.tasks_of_worker(worker, page.limit, page.offset)?;
        let tasks = tasks.into_iter();
        let tasks = tasks.map(|task| usecases::for_its_worker(tx, worker, task));
        Ok::<_, UseCaseError>((tasks.collect::<Result<Vec<_>, _>>()?, total))
    });
    let (tasks, total) = read.await?;
    let windows = app.scheduler.windows();
    let tasks = tasks.into_iter().map(|own| OwnTask::of(own, windows));
    JsonResponse::ok(&page.list(tasks.collect(), total))
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
    let read = app.store.read(move |tx| {
        let task = usecases::own_task(tx, worker, id)?;
        usecases::for_its_worker(tx, worker, task)
    });
    JsonResponse::ok(&OwnTask::of(read.await?, app.scheduler.windows()))
}
