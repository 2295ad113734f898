//! /v1/admin/tasks: any task, with its money and history.

pub mod proofs;

use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::admin::query::TasksQuery;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::{Environment, HistoryEntry, Payment, Status, Task, TaskLedger};
use crate::store::StoreError;
use crate::usecases::UseCaseError;
use crate::views::examples;
use crate::views::payment::{EntryBody, PaymentBody};
use crate::views::task::TaskBody;
use crate::views::task::history::HistoryEntryBody;

type TaskPage = CursorList<TaskBody<'static>>;

/// List tasks of all accounts
///
/// Live and test, newest first. Test tasks are ordered by the time at which they were really created.
#[utoipa::path(
    get, path = "/v1/admin/tasks", tag = "Admin", operation_id = "listTasksAsAdmin",
    params(("account_id" = inline(Option<parameters::AccountId>), Query, description = "Only of this account"),
        ("environment" = inline(Option<Environment>), Query, description = "Only of this environment"),
        ("status" = inline(Option<Status>), Query, description = "Only in this status"),
        parameters::PageSize,
        ("cursor" = inline(Option<parameters::IdCursor>), Query, description = "`next_cursor` of the previous page")),
    responses((status = 200, description = "A page of tasks", body = TaskPage),
        groups::Admin, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    query: TasksQuery,
) -> Result<JsonResponse, ApiError> {
    let TasksQuery {
        filter,
        cursor,
        limit,
    } = query;
    let read = app
        .store
        .snapshot(move |tx| tx.tasks_before(filter, cursor, limit + 1));
    let mut tasks = read.await?;
    let meta = CursorMeta::cut(&mut tasks, limit, |task| task.id.to_string());
    let data = tasks.iter().map(TaskBody::of);
    let data = data.collect::<Result<_, StoreError>>()?;
    JsonResponse::ok(&meta.list(data))
}

/// A task with its money and its history.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(TaskWithHistory::example()))]
pub struct TaskWithHistory<'a> {
    task: TaskBody<'a>,
    payment: PaymentBody,
    /// Every movement of its money, oldest first.
    ledger: Vec<EntryBody>,
    /// Every move, oldest first, up to 1,000.
    history: Vec<HistoryEntryBody>,
    /// How many moves there are in all.
    history_total: i64,
}

impl<'a> TaskWithHistory<'a> {
    fn of(
        task: &'a Task,
        payment: Option<&Payment>,
        ledger: &TaskLedger,
        history: Vec<HistoryEntry>,
        history_total: i64,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            task: TaskBody::of(task)?,
            payment: PaymentBody::of(task, payment, ledger),
            ledger: ledger.entries().iter().map(Into::into).collect(),
            history: history.into_iter().map(Into::into).collect(),
            history_total,
        })
    }

    fn example() -> Value {
        let (story, payment) = (examples::completed(), examples::payment());
        let (ledger, total) = (story.ledger(), story.history.len() as i64);
        let example =
            TaskWithHistory::of(&story.task, Some(&payment), &ledger, story.history, total);
        examples::json(example)
    }
}

/// Get any task
///
/// Includes its payment, ledger entries and history.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}", tag = "Admin", operation_id = "getTaskAsAdmin",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "The task", body = TaskWithHistory),
        groups::Admin, errors::TaskNotFound)
)]
pub async fn get(
    State(app): State<App>,
    _: AdminCaller,
    path: TaskPath,
) -> Result<JsonResponse, ApiError> {
    const MOVES: i64 = 1_000;
    let id = path.id()?;
    let found = app.store.snapshot(move |tx| {
        let task = tx.any_task(id)?.ok_or(UseCaseError::TaskNotFound)?;
        let (history, total) = tx.history(id, MOVES, 0)?;
        Ok::<_, UseCaseError>((
            task,
            tx.payment(id)?,
            tx.ledger_of_task(id)?,
            history,
            total,
        ))
    });
    let (task, payment, ledger, history, total) = found.await?;
    JsonResponse::ok(&TaskWithHistory::of(
        &task,
        payment.as_ref(),
        &ledger,
        history,
        total,
    )?)
}
