//! GET /v1/tasks/{id}/proofs

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::api::request::query::PageQuery;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::OffsetList;
use crate::api::response::proofs::page_of;
use crate::views::proof::ProofBody;

type ProofList = OffsetList<ProofBody>;

/// List the proofs of a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}/proofs", tag = "Proofs", operation_id = "listProofs",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        parameters::OffsetPage),
    responses((status = 200, description = "The proofs, oldest first", body = ProofList),
        groups::Developer, groups::Query, errors::TaskNotFound)
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    PageQuery(page): PageQuery,
) -> Result<JsonResponse, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    page_of(&app, move |tx| tx.task_of(owner, id), page).await
}
