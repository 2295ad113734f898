//! GET /v1/tasks and /v1/tasks/{id}

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::{Caller, OwnTask};
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::query::TaskListQuery;
use crate::api::response::json::{JsonResponse, KeptJson};
use crate::api::response::page::OffsetList;
use crate::domain::tasks::{Category, Priority};
use crate::domain::{Status, Timestamp};
use crate::store::{ListedTask, TaskPage};
use crate::views::task::TaskBody;
use crate::views::{Id, examples};

type TaskListItemList = OffsetList<TaskListItem>;

/// A task in a list.
#[derive(Serialize, ToSchema)]
#[schema(as = TaskSummary, example = json!(TaskListItem::example()))]
pub struct TaskListItem {
    #[schema(value_type = Id)]
    id: String,
    title: String,
    status: Status,
    category: Category,
    budget_cents: i64,
    location_city: String,
    location_state: String,
    priority: Priority,
    #[schema(required, value_type = Option<Id>)]
    worker_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl TaskListItem {
    pub fn example() -> Self {
        let task = examples::funded().task;
        Self::from(ListedTask {
            id: task.id,
            title: task.title,
            status: task.status,
            category: task.category,
            budget_cents: task.budget_cents,
            location_city: task.location.city,
            location_state: task.location.state,
            priority: task.priority,
            worker: task.worker,
            created_at: task.created_at,
            updated_at: task.updated_at,
        })
    }
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

/// List tasks
///
/// The account's tasks in the key's environment, newest first.
#[utoipa::path(
    get, path = "/v1/tasks", tag = "Tasks", operation_id = "listTasks",
    params(
        ("status" = inline(Option<Status>), Query, description = "Only tasks in this status"),
        parameters::OffsetPage,
    ),
    responses((status = 200, description = "A page of tasks", body = TaskListItemList),
        groups::Developer, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    query: TaskListQuery,
) -> Result<JsonResponse, ApiError> {
    let page = query.page;
    let found = find(&app, &caller, query).await?;
    JsonResponse::ok(&page.list(
        found.tasks.into_iter().map(TaskListItem::from).collect(),
        found.total,
    ))
}

/// What a list shows, before it is written down: as JSON here, as HTML by a page.
pub async fn find(app: &App, caller: &Caller, query: TaskListQuery) -> Result<TaskPage, ApiError> {
    let TaskListQuery { status, page } = query;
    let owner = caller.owner();
    let found = app
        .store
        .snapshot(move |tx| tx.tasks_of(owner, status, page.limit, page.offset));
    Ok(found.await?)
}

/// Get a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}", tag = "Tasks", operation_id = "getTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "The task", body = TaskBody),
        groups::Developer, errors::TaskNotFound)
)]
pub async fn get(task: OwnTask) -> Result<KeptJson, ApiError> {
    Ok(KeptJson(task.found()?.owners_json(TaskBody::json)?))
}
