//! A proof as JSON.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::domain::tasks::ProofType;
use crate::domain::{Proof, ProofStatus, Timestamp};
use crate::store::StoreError;
use crate::views::{Id, examples};

/// A proof of work: one file.
#[derive(Serialize, ToSchema)]
#[schema(as = Proof, example = json!(ProofBody::example()))]
pub struct ProofBody {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    task_id: String,
    #[schema(value_type = Id)]
    worker_id: String,
    attempt_number: i64,
    #[serde(rename = "type")]
    proof_type: ProofType,
    /// A signed URL, valid for one hour. List the proofs again for a new one. Null when the file was
    /// deleted: 30 days after a test proof was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required, value_type = Option<String>)]
    file_url: Option<Option<String>>,
    content_type: String,
    file_size_bytes: i64,
    #[schema(required)]
    gps_latitude: Option<f64>,
    #[schema(required)]
    gps_longitude: Option<f64>,
    /// Whether it was taken within 500 m of the task.
    geo_valid: bool,
    #[schema(required)]
    distance_from_task_meters: Option<f64>,
    #[schema(value_type = Object)]
    device_info: Box<RawValue>,
    status: ProofStatus,
    #[schema(required)]
    rejection_reason: Option<String>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    reviewed_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl ProofBody {
    pub fn of(proof: Proof, file_url: Option<String>) -> Result<Self, StoreError> {
        Ok(Self {
            file_url: Some(file_url),
            ..Self::for_event(proof)?
        })
    }

    /// The proof as events carry it. The file URL is left out: list the proofs to get one.
    pub fn for_event(proof: Proof) -> Result<Self, StoreError> {
        let device_info = RawValue::from_string(proof.device_info)
            .map_err(|e| StoreError::Failed(format!("device_info of {}: {e}", proof.id)))?;
        Ok(Self {
            id: proof.id.to_string(),
            task_id: proof.task.to_string(),
            worker_id: proof.worker.to_string(),
            attempt_number: proof.attempt_number,
            proof_type: proof.proof_type,
            file_url: None,
            content_type: proof.file.content_type,
            file_size_bytes: proof.file.size_bytes,
            gps_latitude: proof.gps.map(|gps| gps.latitude),
            gps_longitude: proof.gps.map(|gps| gps.longitude),
            geo_valid: proof.geo_valid,
            distance_from_task_meters: proof.distance_meters,
            device_info,
            status: proof.status,
            rejection_reason: proof.rejection_reason,
            reviewed_at: proof.reviewed_at,
            created_at: proof.created_at,
        })
    }

    fn example() -> Value {
        let proof = examples::proof();
        let file_url = examples::file_url(proof.id);
        examples::json(Self::of(proof, Some(file_url)))
    }
}
