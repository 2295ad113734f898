//! POST /v1/worker/tasks/{id}/accept, /start, /release and /dispute

use axum::extract::State;
use serde_json::json;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::api::worker::tasks::own::OwnTask;
use crate::domain::tasks::dispute;
use crate::domain::{Action, Task, TaskId, Timestamp};
use crate::limits::ClientAddress;
use crate::store::{StoreError, Tx};
use crate::usecases::{self, AcceptTerms, UseCaseError};
use crate::views::to_json;

/// Runs one of the moves that a worker can make.
async fn make(
    app: &App,
    caller: &WorkerCaller,
    id: TaskId,
    post: Post,
    mut act: impl FnMut(&mut Tx<'_>, Timestamp) -> Result<Task, UseCaseError> + Send + 'static,
) -> Result<JsonResponse, ApiError> {
    let requester = caller.requester();
    let (worker, windows) = (caller.worker.id, *app.scheduler.windows());
    let work = move |tx: &mut Tx<'_>, now| {
        let task = act(tx, now)?;
        let own = usecases::for_its_worker(tx, worker, task)?;
        Ok(OwnTask::of(own, &windows))
    };
    let render = |task: &OwnTask| -> Result<String, StoreError> { to_json(task) };
    let account = app.store.read(move |tx| {
        let account = tx.account_of_task(id)?;
        Ok::<_, UseCaseError>(account)
    });
    let account = account.await?;
    let mut effect = Idempotent::new(app, requester, post);
    if let Some(account) = account {
        effect = effect.of_account(account);
    }
    effect.run(work, render).await
}

/// Accept a task
///
/// You must be verified, have all required skills and a payout account that is ready, and have no
/// more than four other tasks to work on. If several workers accept at once, one gets the task.
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/accept", tag = "Workers", operation_id = "acceptTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is assigned to you", body = OwnTask),
        groups::Worker, groups::Body, groups::Idempotency, errors::AccountSuspended, errors::WorkerNotEligible,
        errors::TaskNotFound,
        errors::InvalidTaskState)
)]
pub async fn accept(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    address: ClientAddress,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let (worker, id): (_, TaskId) = (caller.worker.id, path.id()?);
    let address = address.subscriber();
    let terms = AcceptTerms {
        processor: app.payments.processor.name(),
        checked_skills: app.checked_skills.clone(),
    };
    make(&app, &caller, id, post, move |tx, now| {
        let task = usecases::accept_task(tx, worker, id, &terms, now)?;
        usecases::flag_same_person(tx, &task, worker, address, now)?;
        Ok(task)
    })
    .await
}

/// Start a task
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/start", tag = "Workers", operation_id = "startTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is in progress", body = OwnTask),
        groups::Worker, groups::Body, groups::Idempotency, errors::TaskNotFound,
        errors::InvalidTaskState)
)]
pub async fn start(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let (worker, id) = (caller.worker.id, path.id()?);
    make(&app, &caller, id, post, move |tx, now| {
        usecases::transition_own_task(tx, worker, id, Action::Start, now)
    })
    .await
}

/// Release a task
///
/// Other workers can accept it again. Used attempts stay used.
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/release", tag = "Workers", operation_id = "releaseTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is posted again", body = OwnTask),
        groups::Worker, groups::Body, groups::Idempotency, errors::TaskNotFound,
        errors::InvalidTaskState)
)]
pub async fn release(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let (worker, id) = (caller.worker.id, path.id()?);
    make(&app, &caller, id, post, move |tx, now| {
        usecases::transition_own_task(tx, worker, id, Action::Release, now)
    })
    .await
}

pub struct DisputeTask {
    statement: Option<String>,
}

impl RequestBody for DisputeTask {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let statement = fields
            .doc("Why the rejection is wrong.")
            .optional_text("statement", &dispute::STATEMENT);
        Some(Self { statement })
    }
}

request_bodies! {
    DisputeTask = json!({
        "statement": "The photo shows the opening hours, to the left of the door.",
    });
}

/// Dispute a rejection
///
/// Within 72 hours of the rejection. An admin decides.
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/dispute", tag = "Workers", operation_id = "disputeTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    request_body = DisputeTask,
    responses((status = 200, description = "The task is disputed", body = OwnTask),
        groups::Worker, groups::Body, groups::Idempotency, errors::TaskNotFound,
        errors::InvalidTaskState)
)]
pub async fn contest(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let DisputeTask { statement } = post.read()?;
    let (worker, id) = (caller.worker.id, path.id()?);
    let windows = *app.scheduler.windows();
    make(&app, &caller, id, post, move |tx, now| {
        usecases::dispute_task(tx, worker, id, statement.as_deref(), &windows, now)
    })
    .await
}
