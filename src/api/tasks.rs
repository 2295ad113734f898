//! /v1/tasks

use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::Answer;
use super::authentication::Caller;
use super::error::ApiError;
use super::idempotency::{Keep, Post, once, once_prepared};
use super::openapi::{Example, IdempotencyKeyHeader, PageLimit, PageOffset, errors};
use super::path::TaskPath;
use super::query::{Meta, TaskListQuery};
use super::task_requests::{CreateTask, UpdateTask, new_task, task_edit};
use super::{App, body, funding};
use crate::ambient;
use crate::domain::task::{Category, Priority};
use crate::domain::{Status, Task, TaskId, Timestamp};
use crate::objects::task::TaskBody;
use crate::objects::to_json;
use crate::store::{ListedTask, StoreError, Tx};
use crate::usecases::{self, Funding, Refusal};

/// A task as its creation answers it.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(Example::CreatedTask.value()))]
pub struct CreatedTask<'a> {
    #[serde(flatten)]
    task: TaskBody<'a>,
    /// Present when payment is still to be completed: with it, somebody pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    payment_client_secret: Option<&'a str>,
}

impl CreatedTask<'_> {
    fn json((task, client_secret): &(Task, Option<String>)) -> Result<String, StoreError> {
        to_json(&CreatedTask {
            task: TaskBody::of(task)?,
            payment_client_secret: client_secret.as_deref(),
        })
    }
}

/// A task in a list.
#[derive(Serialize, ToSchema)]
pub struct TaskListItem {
    id: String,
    title: String,
    status: Status,
    category: Category,
    budget_cents: i64,
    location_city: String,
    location_state: String,
    priority: Priority,
    #[schema(required)]
    worker_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<ListedTask> for TaskListItem {
    fn from(task: ListedTask) -> Self {
        Self {
            id: task.id.to_string(),
            title: task.title,
            status: task.status,
            category: task.category,
            budget_cents: task.budget_cents,
            location_city: task.location_city,
            location_state: task.location_state,
            priority: task.priority,
            worker_id: task.worker.map(|id| id.to_string()),
            created_at: task.created_at,
            updated_at: task.updated_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(Example::TaskList.value()))]
pub struct TaskList {
    data: Vec<TaskListItem>,
    meta: Meta,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(Example::CancelledTask.value()))]
pub struct CancelledTask {
    id: String,
    status: Status,
    #[schema(required, value_type = String, format = DateTime)]
    cancelled_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl CancelledTask {
    fn json(task: &Task) -> Result<String, StoreError> {
        to_json(&Self {
            id: task.id.to_string(),
            status: task.status,
            cancelled_at: task.cancelled_at,
            updated_at: task.updated_at,
        })
    }
}

/// Create a task
///
/// With a test key the task is funded at once, without a charge. With a live key it is pending: the
/// account's default payment method is charged right after, or, where there is none, the answer
/// carries a `payment_client_secret` with which somebody pays.
#[utoipa::path(
    post, path = "/v1/tasks", tag = "Tasks", operation_id = "createTask",
    params(IdempotencyKeyHeader), request_body = CreateTask,
    responses((status = 201, description = "The new task", body = CreatedTask,
            links(("get" = (operation_id = "getTask", parameters(("id" = "$response.body#/id")))),
                ("update" = (operation_id = "updateTask", parameters(("id" = "$response.body#/id")))),
                ("cancel" = (operation_id = "cancelTask", parameters(("id" = "$response.body#/id")))))),
        errors::Common, errors::Body, errors::Idempotency, errors::TaskLimit,
        errors::PaymentUnavailable)
)]
pub async fn create(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<Answer, ApiError> {
    let new = new_task(&post)?;
    let holder = caller.holder;
    let id = TaskId::new(holder.time(app.clock.now()), &ambient::random_for_id());
    let prepare = funding::prepare(&app, holder, id, new.budget_cents);
    let create = move |tx: &mut Tx<'_>, now, funding: &Funding| {
        let task = usecases::create_task(tx, &holder, &new, id, funding, now)?;
        let client_secret = match funding {
            Funding::ByHand(_, intent) => Some(intent.client_secret.clone()),
            Funding::Simulated | Funding::ByMethod(..) => None,
        };
        Ok((task, client_secret))
    };
    let (status, render) = (StatusCode::CREATED, CreatedTask::json);
    once_prepared(
        &app,
        &caller.asker(),
        post,
        status,
        Keep::Plain,
        prepare,
        create,
        render,
    )
    .await
}

/// List tasks
///
/// The account's tasks in the environment of the key, newest first.
#[utoipa::path(
    get, path = "/v1/tasks", tag = "Tasks", operation_id = "listTasks",
    params(
        ("status" = inline(Option<Status>), Query, description = "Only tasks in this status"),
        ("limit" = inline(Option<PageLimit>), Query,
            description = "Page size, 20 when left out; more than 100 is served as 100"),
        ("offset" = inline(Option<PageOffset>), Query, description = "How many to skip"),
    ),
    responses((status = 200, description = "A page of tasks", body = TaskList),
        errors::Common, errors::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    query: TaskListQuery,
) -> Result<Answer, ApiError> {
    let TaskListQuery { status, page } = query;
    let owner = caller.owner();
    let found = app
        .store
        .snapshot(move |tx| tx.tasks_of(owner, status, page.limit, page.offset))
        .await?;
    Answer::ok(&TaskList {
        data: found.tasks.into_iter().map(Into::into).collect(),
        meta: page.meta(found.total),
    })
}

/// Get a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}", tag = "Tasks", operation_id = "getTask",
    params(("id" = String, Path, description = "Task id")),
    responses((status = 200, description = "The task", body = TaskBody),
        errors::Common, errors::TaskNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
) -> Result<Answer, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let task = app
        .store
        .read(move |tx| Ok::<_, Refusal>(tx.task_of(owner, id)?))
        .await?
        .ok_or(Refusal::TaskNotFound)?;
    Answer::ok(&TaskBody::of(&task)?)
}

/// Update a task
///
/// Only while it is pending.
#[utoipa::path(
    patch, path = "/v1/tasks/{id}", tag = "Tasks", operation_id = "updateTask",
    params(("id" = String, Path, description = "Task id")), request_body = UpdateTask,
    responses((status = 200, description = "The updated task", body = TaskBody),
        errors::Common, errors::Body, errors::TaskNotFound, errors::InvalidTaskState)
)]
pub async fn update(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    request: Request,
) -> Result<Answer, ApiError> {
    let edit = task_edit(&body::read(request.into_body(), app.timeouts).await?)?;
    let (holder, id, clock) = (caller.holder, path.id()?, app.clock.clone());
    let task = app
        .store
        .write(move |tx| usecases::update_task(tx, &holder, id, &edit, clock.now()))
        .await?;
    Answer::ok(&TaskBody::of(&task)?)
}

/// Cancel a task
///
/// Free while nobody has taken it; half of the budget once a worker is assigned; not possible
/// after the work has started.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/cancel", tag = "Tasks", operation_id = "cancelTask",
    params(("id" = String, Path, description = "Task id"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is cancelled", body = CancelledTask),
        errors::Common, errors::Body, errors::Idempotency, errors::TaskNotFound,
        errors::InvalidTaskStateOrInFlight)
)]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    post: Post,
) -> Result<Answer, ApiError> {
    post.expect_no_fields()?;
    let (holder, id) = (caller.holder, path.id()?);
    once(
        &app,
        &caller.asker(),
        post,
        StatusCode::OK,
        Keep::Plain,
        move |tx, now| usecases::cancel_task(tx, &holder, id, now),
        CancelledTask::json,
    )
    .await
}
