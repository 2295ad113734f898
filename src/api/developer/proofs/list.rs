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
use crate::api::response::proofs::with_files;
use crate::usecases::UseCaseError;
use crate::views::proof::ProofBody;

type ProofList = OffsetList<ProofBody>;

/// List the proofs of a task
#[utoipa::path(
    get, path = "/v1/tasks/{id}/proofs", tag = "Proofs", operation_id = "listProofs",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        ("limit" = inline(Option<parameters::PageLimit>), Query, description = "Page size. More than 100 is served as 100"),
        ("offset" = inline(Option<parameters::PageOffset>), Query, description = "How many objects to skip")),
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
    let (proofs, total) = app
        .store
        .snapshot(move |tx| {
            tx.task_of(owner, id)?.ok_or(UseCaseError::TaskNotFound)?;
            Ok::<_, UseCaseError>(tx.proofs_of(id, page.limit, page.offset)?)
        })
        .await?;
    JsonResponse::ok(&page.list(with_files(&app, proofs).await?, total))
}
