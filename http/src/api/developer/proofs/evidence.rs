//! GET /v1/tasks/{id}/proofs/{proof_id}/evidence: facts for and against a proof, never a verdict.

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::ProofPath;
use crate::api::response::evidence::EvidenceBody;
use crate::api::response::json::JsonResponse;
use crate::usecases::{self, UseCaseError};

/// Get the evidence for a proof
///
/// Compares the time and place that the camera recorded with what was sent and with the task. Also
/// lists other tasks or attempts with the same photo, the accuracy that the device claims, and the
/// delay of the upload.
#[utoipa::path(
    get, path = "/v1/tasks/{id}/proofs/{proof_id}/evidence", tag = "Proofs",
    operation_id = "getEvidence",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        ("proof_id" = inline(parameters::ProofId), Path, description = "Proof ID")),
    responses((status = 200, description = "The evidence", body = EvidenceBody),
        groups::Developer, errors::TaskNotFound, errors::ProofNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    path: ProofPath,
) -> Result<JsonResponse, ApiError> {
    let (owner, (task, proof)) = (caller.owner(), path.ids()?);
    let evidence = app
        .store
        .snapshot(move |tx| {
            let task = tx.task_of(owner, task)?.ok_or(UseCaseError::TaskNotFound)?;
            let proof = usecases::proof_of(tx, task.id, proof)?;
            Ok::<_, UseCaseError>(usecases::evidence(tx, &task, proof)?)
        })
        .await?;
    JsonResponse::ok(&EvidenceBody::from(evidence))
}
