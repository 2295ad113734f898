//! /v1/admin/tasks: any task, with all that became of it.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::query::{CursorMeta, TasksQuery};
use crate::api::App;
use crate::api::answer::Answer;
use crate::api::authentication::AdminCaller;
use crate::api::error::ApiError;
use crate::api::openapi::{PageLimit, errors};
use crate::api::openapi_examples::AdminExample;
use crate::api::path::TaskPath;
use crate::api::payments::{EntryBody, PaymentBody};
use crate::domain::{MadeMove, Maker, Status, Timestamp};
use crate::objects::task::TaskBody;
use crate::store::StoreError;
use crate::usecases::Refusal;

#[derive(Serialize, ToSchema)]
#[schema(example = json!(AdminExample::Tasks.value()))]
pub struct AdminTaskList<'a> {
    data: Vec<TaskBody<'a>>,
    meta: CursorMeta,
}

/// List tasks
///
/// Of all accounts, live and test, newest first.
#[utoipa::path(
    get, path = "/v1/admin/tasks", tag = "Admin", operation_id = "listTasksAsAdmin",
    params(("account_id" = Option<String>, Query, description = "Only of this account"),
        ("status" = inline(Option<Status>), Query, description = "Only in this status"),
        ("limit" = inline(Option<PageLimit>), Query, description = "Page size, 20 when left out"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, description = "A page of tasks", body = AdminTaskList),
        errors::Admin, errors::Query)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    query: TasksQuery,
) -> Result<Answer, ApiError> {
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
    Answer::ok(&AdminTaskList { data, meta })
}

/// Who moved a task, when and why.
#[derive(Serialize, ToSchema)]
struct MoveBody {
    /// Null for its creation.
    #[schema(required)]
    from: Option<Status>,
    to: Status,
    made_by: Maker,
    /// The id of the key or of the worker, where there is one.
    #[schema(required)]
    maker_id: Option<String>,
    #[schema(required)]
    reason: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    made_at: Timestamp,
}

impl From<MadeMove> for MoveBody {
    fn from(made: MadeMove) -> Self {
        Self {
            from: made.from,
            to: made.to,
            made_by: made.by.maker,
            maker_id: made.by.id,
            reason: made.reason,
            made_at: made.made_at,
        }
    }
}

/// A task with its money and its history.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(AdminExample::Task.value()))]
pub struct TaskWithHistory<'a> {
    task: TaskBody<'a>,
    payment: PaymentBody,
    /// Every movement of its money, oldest first.
    ledger: Vec<EntryBody>,
    /// Every move, oldest first, up to 1,000.
    history: Vec<MoveBody>,
    /// How many moves there are in all.
    history_total: i64,
}

/// Get any task
///
/// With its payment, its ledger entries and its history.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}", tag = "Admin", operation_id = "getTaskAsAdmin",
    params(("id" = String, Path, description = "Task id")),
    responses((status = 200, description = "The task", body = TaskWithHistory),
        errors::Admin, errors::TaskNotFound)
)]
pub async fn get(
    State(app): State<App>,
    _: AdminCaller,
    path: TaskPath,
) -> Result<Answer, ApiError> {
    const MOVES: i64 = 1_000;
    let id = path.id()?;
    let found = app.store.snapshot(move |tx| {
        let task = tx.any_task(id)?.ok_or(Refusal::TaskNotFound)?;
        let (history, total) = tx.history(id, MOVES, 0)?;
        Ok::<_, Refusal>((task, tx.payment(id)?, tx.story(id)?, history, total))
    });
    let (task, payment, story, history, history_total) = found.await?;
    let processor = app.payments.processor.as_ref();
    let mut payment = PaymentBody::of(&task, payment, &story, processor);
    // Whoever has the secret can pay: it is the developer's to hand out.
    payment.withhold_secret();
    Answer::ok(&TaskWithHistory {
        task: TaskBody::of(&task)?,
        payment,
        ledger: story.entries().iter().map(Into::into).collect(),
        history: history.into_iter().map(Into::into).collect(),
        history_total,
    })
}
