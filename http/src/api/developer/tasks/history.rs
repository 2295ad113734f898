//! GET /v1/tasks/{id}/history

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::api::request::query::PageQuery;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::OffsetList;
use crate::usecases::UseCaseError;
use crate::views::task::history::HistoryEntryBody;

type HistoryEntryList = OffsetList<HistoryEntryBody>;

/// Get the history of a task
///
/// Every move, oldest first: who made it, and why.
#[utoipa::path(
    get, path = "/v1/tasks/{id}/history", tag = "Tasks", operation_id = "getHistory",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        parameters::OffsetPage),
    responses((status = 200, description = "The history", body = HistoryEntryList),
        groups::Developer, groups::Query, errors::TaskNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    PageQuery(page): PageQuery,
) -> Result<JsonResponse, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let (moves, total) = app
        .store
        .snapshot(move |tx| {
            tx.task_of(owner, id)?.ok_or(UseCaseError::TaskNotFound)?;
            Ok::<_, UseCaseError>(tx.history(id, page.limit, page.offset)?)
        })
        .await?;
    JsonResponse::ok(&page.list(
        moves.into_iter().map(HistoryEntryBody::from).collect(),
        total,
    ))
}
