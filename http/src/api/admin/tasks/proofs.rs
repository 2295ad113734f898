//! /v1/admin/tasks/{id}/proofs: the proofs of any task, their evidence, and the files as they were sent.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::{ProofPath, TaskPath};
use crate::api::request::query::PageQuery;
use crate::api::response::evidence::EvidenceBody;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::OffsetList;
use crate::api::response::proofs::page_of;
use crate::domain::Proof;
use crate::files::FileKey;
use crate::usecases::{self, UseCaseError};
use crate::views::proof::ProofBody;
use crate::views::{Id, examples};

type ProofList = OffsetList<ProofBody>;

/// List the proofs of any task
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/proofs", tag = "Admin", operation_id = "listProofsAsAdmin",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        parameters::OffsetPage),
    responses((status = 200, description = "The proofs, oldest first", body = ProofList),
        groups::Admin, groups::Query, errors::TaskNotFound)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    path: TaskPath,
    PageQuery(page): PageQuery,
) -> Result<JsonResponse, ApiError> {
    let id = path.id()?;
    page_of(&app, move |tx| tx.any_task(id), page).await
}

/// Get the evidence for a proof of any task
///
/// As for developers. A finding also names the task of another developer that has the same photo.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/proofs/{proof_id}/evidence", tag = "Admin",
    operation_id = "getEvidenceAsAdmin",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        ("proof_id" = inline(parameters::ProofId), Path, description = "Proof ID")),
    responses((status = 200, description = "The evidence", body = EvidenceBody),
        groups::Admin, errors::TaskNotFound, errors::ProofNotFound)
)]
pub async fn evidence(
    State(app): State<App>,
    _: AdminCaller,
    path: ProofPath,
) -> Result<JsonResponse, ApiError> {
    let (task, proof) = path.ids()?;
    let read = app.store.snapshot(move |tx| {
        let task = tx.any_task(task)?.ok_or(UseCaseError::TaskNotFound)?;
        let proof = usecases::proof_of(tx, task.id, proof)?;
        Ok::<_, UseCaseError>(usecases::evidence_for_admins(tx, &task, proof)?)
    });
    JsonResponse::ok(&EvidenceBody::from(read.await?))
}

/// The file of a proof as the worker sent it, with what the camera recorded in it.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(OriginalFile::example()))]
pub struct OriginalFile {
    #[schema(value_type = Id)]
    proof_id: String,
    content_type: String,
    sha256: String,
    /// Signed; good for one hour. Null when the file was deleted.
    #[schema(required)]
    file_url: Option<String>,
}

impl OriginalFile {
    fn of(proof: Proof, file_url: Option<String>) -> Self {
        Self {
            proof_id: proof.id.to_string(),
            content_type: proof.file.content_type,
            sha256: proof.file.sha256,
            file_url,
        }
    }

    fn example() -> Self {
        let proof = examples::proof();
        let file_url = examples::file_url(proof.id);
        Self::of(proof, Some(file_url))
    }
}

/// Get the original file of a proof
///
/// With what the camera recorded in it. Every such request is recorded in the audit log.
#[utoipa::path(
    get, path = "/v1/admin/tasks/{id}/proofs/{proof_id}/original", tag = "Admin",
    operation_id = "getOriginal",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        ("proof_id" = inline(parameters::ProofId), Path, description = "Proof ID")),
    responses((status = 200, description = "The original file", body = OriginalFile),
        groups::Admin, errors::TaskNotFound, errors::ProofNotFound)
)]
pub async fn original(
    State(app): State<App>,
    admin: AdminCaller,
    path: ProofPath,
) -> Result<JsonResponse, ApiError> {
    let ((task, proof), by, clock) = (path.ids()?, admin.by(), app.clock.clone());
    let view = app
        .store
        .write(move |tx| usecases::view_original(tx, task, proof, &by, clock.now()));
    let proof = view.await?;
    let key = FileKey::parse(&proof.file.original_key);
    let file_url = match key.filter(|_| proof.files_deleted_at.is_none()) {
        Some(key) => {
            let (kind, now) = (&proof.file.content_type, app.clock.now());
            Some(app.files.signed_url(key, kind, now).await?)
        }
        None => None,
    };
    JsonResponse::ok(&OriginalFile::of(proof, file_url))
}
