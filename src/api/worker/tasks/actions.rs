//! POST /v1/worker/tasks/{id}/accept, /start, /release and /dispute

use axum::extract::State;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors};
use crate::api::request::fields::Fields;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::TaskPath;
use crate::api::response::json::Answer;
use crate::api::worker::tasks::own::OwnTask;
use crate::domain::{Action, Task, TaskId, Timestamp, rules};
use crate::store::{StoreError, Tx};
use crate::usecases::{self, UseCaseError};
use crate::views::to_json;

/// Runs one of the moves that a worker can make.
async fn make(
    app: &App,
    caller: &WorkerCaller,
    post: Post,
    mut act: impl FnMut(&mut Tx<'_>, Timestamp) -> Result<Task, UseCaseError> + Send + 'static,
) -> Result<Answer, ApiError> {
    let requester = caller.requester();
    let work = move |tx: &mut Tx<'_>, now| act(tx, now).map(OwnTask::from);
    let render = |task: &OwnTask| -> Result<String, StoreError> { to_json(task) };
    Idempotent::new(app, requester, post)
        .run(work, render)
        .await
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
        usecases::transition_own_task(tx, worker, id, Action::Start, now)
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
        usecases::transition_own_task(tx, worker, id, Action::Release, now)
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
    let windows = *app.scheduler.windows();
    make(&app, &caller, post, move |tx, now| {
        usecases::dispute_task(tx, worker, id, statement.as_deref(), &windows, now)
    })
    .await
}
