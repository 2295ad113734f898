//! /v1/worker/available_tasks and /v1/worker/tasks: workers find tasks, take them and do them.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::answer::Answer;
use super::authentication::WorkerCaller;
use super::error::ApiError;
use super::fields::Fields;
use super::idempotency::{Keep, Post, once};
use super::openapi::{IdempotencyKeyHeader, PageLimit, PageOffset, errors};
use super::openapi_examples::WorkerExample;
use super::path::TaskPath;
use super::query::{AvailableQuery, Meta, PageQuery};
use crate::domain::geo::{Point, to_decimeter};
use crate::domain::task::{Category, MAX_PROOF_ATTEMPTS, Priority, ProofType, Skill, TaskType};
use crate::domain::{Action, Status, Task, TaskId, Timestamp, rules};
use crate::objects::to_json;
use crate::store::{StoreError, Tx};
use crate::usecases::{self, Found, Refusal, Search};

/// A task that can be taken. Where exactly it is, and how it is to be done, is told to whoever
/// takes it.
#[derive(Serialize, ToSchema)]
pub struct AvailableTask {
    id: String,
    title: String,
    description: String,
    category: Category,
    task_type: TaskType,
    required_skills: Vec<Skill>,
    location_city: String,
    location_state: String,
    /// Rounded to about a kilometre.
    location_latitude: f64,
    location_longitude: f64,
    distance_meters: f64,
    worker_payout_cents: i64,
    priority: Priority,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    deadline: Option<Timestamp>,
    proof_types: Vec<ProofType>,
    #[schema(value_type = String, format = DateTime)]
    posted_at: Timestamp,
}

impl From<Found> for AvailableTask {
    fn from(found: Found) -> Self {
        let Found {
            task,
            distance_meters,
            ..
        } = found;
        let Point {
            latitude,
            longitude,
        } = task.place().roughly();
        Self {
            id: task.id.to_string(),
            worker_payout_cents: task.parts().payout_cents,
            title: task.title,
            description: task.description,
            category: task.category,
            task_type: task.task_type,
            required_skills: task.required_skills,
            location_city: task.location.city,
            location_state: task.location.state,
            location_latitude: latitude,
            location_longitude: longitude,
            distance_meters: to_decimeter(distance_meters),
            priority: task.priority,
            deadline: task.deadline,
            proof_types: task.proof_types,
            posted_at: task.status_since,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerExample::Available.value()))]
pub struct AvailableTasks {
    data: Vec<AvailableTask>,
    meta: AvailableMeta,
}

#[derive(Serialize, ToSchema)]
struct AvailableMeta {
    limit: i64,
    /// Asks for the next page; null on the last one.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// Find tasks nearby
///
/// Live tasks that can be taken and whose required skills the worker has, around a point; bounties
/// first. Without a point, around home.
#[utoipa::path(
    get, path = "/v1/worker/available_tasks", tag = "Workers", operation_id = "findTasks",
    params(
        ("latitude" = Option<f64>, Query, description = "With longitude; home when left out"),
        ("longitude" = Option<f64>, Query, description = "With latitude"),
        ("radius_km" = Option<f64>, Query, description = "0.1 to 200; the worker's own when left out"),
        ("category" = inline(Option<Category>), Query, description = "Only this category"),
        ("sort" = Option<String>, Query, description = "`distance` (when left out), `payout` or `newest`"),
        ("limit" = inline(Option<PageLimit>), Query, description = "Page size, 20 when left out"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before"),
    ),
    responses((status = 200, description = "A page of tasks", body = AvailableTasks),
        errors::Common, errors::Query)
)]
pub async fn available(
    State(app): State<App>,
    caller: WorkerCaller,
    query: AvailableQuery,
) -> Result<Answer, ApiError> {
    let worker = caller.worker;
    let Some(center) = query.center.or(worker.home) else {
        let message = "is required: the worker has no home yet";
        return Err(ApiError::invalid("latitude", message));
    };
    let limit = query.limit;
    let search = Search {
        center,
        radius_meters: query.radius_km.unwrap_or(worker.radius_km) * 1_000.0,
        category: query.category,
        skills: worker.skills,
        order: query.order,
        after: query.after,
        limit: limit as usize,
    };
    let (found, more) = app
        .store
        .snapshot(move |tx| usecases::find_tasks(tx, &search))
        .await?;
    let last = found.last().filter(|_| more);
    let next_cursor = last.map(|found| AvailableQuery::cursor_text(&found.cursor));
    Answer::ok(&AvailableTasks {
        data: found.into_iter().map(Into::into).collect(),
        meta: AvailableMeta { limit, next_cursor },
    })
}

/// A task that the worker has taken, with all that it takes to do it.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerExample::OwnTask.value()))]
pub struct OwnTask {
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

impl From<Task> for OwnTask {
    fn from(task: Task) -> Self {
        Self {
            id: task.id.to_string(),
            worker_payout_cents: task.parts().payout_cents,
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

#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerExample::OwnTasks.value()))]
pub struct OwnTasks {
    data: Vec<OwnTask>,
    meta: Meta,
}

/// List own tasks
#[utoipa::path(
    get, path = "/v1/worker/tasks", tag = "Workers", operation_id = "listOwnTasks",
    params(("limit" = inline(Option<PageLimit>), Query, description = "Page size, 20 when left out"),
        ("offset" = inline(Option<PageOffset>), Query, description = "How many to skip")),
    responses((status = 200, description = "The worker's tasks, newest first", body = OwnTasks),
        errors::Common, errors::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: WorkerCaller,
    PageQuery(page): PageQuery,
) -> Result<Answer, ApiError> {
    let worker = caller.worker.id;
    let (tasks, total) = app
        .store
        .snapshot(move |tx| tx.tasks_of_worker(worker, page.limit, page.offset))
        .await?;
    Answer::ok(&OwnTasks {
        data: tasks.into_iter().map(Into::into).collect(),
        meta: page.meta(total),
    })
}

/// Get an own task
#[utoipa::path(
    get, path = "/v1/worker/tasks/{id}", tag = "Workers", operation_id = "getOwnTask",
    params(("id" = String, Path, description = "Task id")),
    responses((status = 200, description = "The task, with its instructions", body = OwnTask),
        errors::Common, errors::TaskNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
) -> Result<Answer, ApiError> {
    let (worker, id) = (caller.worker.id, path.id()?);
    let task = app.store.read(move |tx| tx.any_task(id)).await?;
    let task = task.filter(|task| task.worker == Some(worker) && task.is_live());
    let task = task.ok_or(Refusal::TaskNotFound)?;
    Answer::ok(&OwnTask::from(task))
}

/// Runs one of the moves that a worker can make.
async fn make(
    app: &App,
    caller: &WorkerCaller,
    post: Post,
    mut act: impl FnMut(&mut Tx<'_>, Timestamp) -> Result<Task, Refusal> + Send + 'static,
) -> Result<Answer, ApiError> {
    let asker = caller.asker();
    let work = move |tx: &mut Tx<'_>, now| act(tx, now).map(OwnTask::from);
    let render = |task: &OwnTask| -> Result<String, StoreError> { to_json(task) };
    once(app, &asker, post, StatusCode::OK, Keep::Plain, work, render).await
}

/// Take a task
///
/// Needs a verified worker with all required skills, a payout account that is ready, and no more
/// than four other open tasks. Of several who try, one gets it.
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/accept", tag = "Workers", operation_id = "acceptTask",
    params(("id" = String, Path, description = "Task id"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is the worker's", body = OwnTask),
        errors::Common, errors::Body, errors::Idempotency, errors::NotEligible, errors::TaskNotFound,
        errors::InvalidTaskStateOrInFlight)
)]
pub async fn accept(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    post: Post,
) -> Result<Answer, ApiError> {
    post.expect_no_fields()?;
    let (worker, id): (_, TaskId) = (caller.worker.id, path.id()?);
    let processor = app.payments.processor.name();
    make(&app, &caller, post, move |tx, now| {
        usecases::accept_task(tx, worker, id, processor, now)
    })
    .await
}

/// Begin a task
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/start", tag = "Workers", operation_id = "startTask",
    params(("id" = String, Path, description = "Task id"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is in progress", body = OwnTask),
        errors::Common, errors::Body, errors::Idempotency, errors::TaskNotFound,
        errors::InvalidTaskStateOrInFlight)
)]
pub async fn start(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    post: Post,
) -> Result<Answer, ApiError> {
    post.expect_no_fields()?;
    let (worker, id) = (caller.worker.id, path.id()?);
    make(&app, &caller, post, move |tx, now| {
        usecases::act_on_own_task(tx, worker, id, Action::Start, now)
    })
    .await
}

/// Give a task back
///
/// Others can take it again. Attempts that were used stay used.
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/release", tag = "Workers", operation_id = "releaseTask",
    params(("id" = String, Path, description = "Task id"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is posted again", body = OwnTask),
        errors::Common, errors::Body, errors::Idempotency, errors::TaskNotFound,
        errors::InvalidTaskStateOrInFlight)
)]
pub async fn release(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    post: Post,
) -> Result<Answer, ApiError> {
    post.expect_no_fields()?;
    let (worker, id) = (caller.worker.id, path.id()?);
    make(&app, &caller, post, move |tx, now| {
        usecases::act_on_own_task(tx, worker, id, Action::Release, now)
    })
    .await
}

/// Why the rejection is wrong.
#[derive(ToSchema)]
#[schema(example = json!({"statement": "The photo shows the opening hours, to the left of the door."}))]
#[allow(dead_code, reason = "documents the body that `dispute` reads")]
pub struct Dispute {
    #[schema(min_length = 1, max_length = 2000)]
    statement: Option<String>,
}

/// Contest a rejection
///
/// Within 72 hours; an admin decides.
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/dispute", tag = "Workers", operation_id = "disputeTask",
    params(("id" = String, Path, description = "Task id"), IdempotencyKeyHeader),
    request_body = Dispute,
    responses((status = 200, description = "The task is disputed", body = OwnTask),
        errors::Common, errors::Body, errors::Idempotency, errors::TaskNotFound,
        errors::InvalidTaskStateOrInFlight)
)]
pub async fn dispute(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    post: Post,
) -> Result<Answer, ApiError> {
    let mut fields = Fields::of(&post.body);
    let statement = fields.optional_text("statement", |text| rules::text(text, 1, 2_000));
    fields.finish()?;
    let (worker, id) = (caller.worker.id, path.id()?);
    let windows = *app.clockwork.windows();
    make(&app, &caller, post, move |tx, now| {
        usecases::dispute_task(tx, worker, id, statement.as_deref(), &windows, now)
    })
    .await
}
