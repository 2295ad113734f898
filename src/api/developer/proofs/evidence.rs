//! GET /v1/tasks/{id}/proofs/{proof_id}/evidence: facts for and against a proof, never a verdict.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::ProofPath;
use crate::api::response::json::JsonResponse;
use crate::domain::Timestamp;
use crate::usecases::{self, Evidence, Finding, UseCaseError};
use crate::views::{Id, examples};

#[derive(Serialize, ToSchema)]
#[schema(as = Evidence, example = json!(EvidenceBody::example()))]
pub struct EvidenceBody {
    #[schema(value_type = Id)]
    proof_id: String,
    #[schema(value_type = Id)]
    task_id: String,
    /// Hash of the file as the worker sent it.
    sha256: String,
    /// What the camera recorded in the file.
    exif: ExifBody,
    #[schema(value_type = String, format = DateTime)]
    received_at: Timestamp,
    findings: Vec<FindingBody>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Exif)]
struct ExifBody {
    #[schema(required, value_type = Option<String>, format = DateTime)]
    taken_at: Option<Timestamp>,
    #[schema(required)]
    latitude: Option<f64>,
    #[schema(required)]
    longitude: Option<f64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Finding)]
struct FindingBody {
    code: &'static str,
    /// In the unit.
    #[schema(required)]
    value: Option<f64>,
    /// `m`, `s` or `bits`.
    #[schema(required)]
    unit: Option<&'static str>,
    /// For people.
    reason: String,
    /// The proof with the same photo, if it is one of yours.
    #[schema(required, value_type = Option<Id>)]
    proof_id: Option<String>,
    #[schema(required, value_type = Option<Id>)]
    task_id: Option<String>,
}

impl EvidenceBody {
    fn example() -> Self {
        Self::from(Evidence {
            proof: examples::proof(),
            findings: vec![Finding {
                code: "exif_gps_far",
                measure: Some((1868.0, "m")),
                reason: "the place that the camera recorded, from the task, lies 1868 m away"
                    .to_owned(),
                other: None,
            }],
        })
    }
}

impl From<Evidence> for EvidenceBody {
    fn from(Evidence { proof, findings }: Evidence) -> Self {
        let place = proof.metadata.place;
        Self {
            proof_id: proof.id.to_string(),
            task_id: proof.task.to_string(),
            sha256: proof.file.sha256,
            exif: ExifBody {
                taken_at: proof.metadata.taken_at,
                latitude: place.map(|place| place.latitude),
                longitude: place.map(|place| place.longitude),
            },
            received_at: proof.created_at,
            findings: findings.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Finding> for FindingBody {
    fn from(finding: Finding) -> Self {
        Self {
            code: finding.code,
            value: finding.measure.map(|(value, _)| value),
            unit: finding.measure.map(|(_, unit)| unit),
            reason: finding.reason,
            proof_id: finding.other.map(|(_, proof)| proof.to_string()),
            task_id: finding.other.map(|(task, _)| task.to_string()),
        }
    }
}

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
            let proof = proof.ok_or(UseCaseError::ProofNotFound)?;
            let proof = tx
                .proof(task.id, proof)?
                .ok_or(UseCaseError::ProofNotFound)?;
            Ok::<_, UseCaseError>(usecases::evidence(tx, &task, proof)?)
        })
        .await?;
    JsonResponse::ok(&EvidenceBody::from(evidence))
}
