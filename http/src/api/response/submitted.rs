//! The proofs of an attempt that was just submitted.

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::response::json::JsonResponse;
use crate::api::response::proofs::with_files;
use crate::domain::{Proof, Status, TaskId};
use crate::views::proof::ProofBody;
use crate::views::{Id, examples};

/// The proofs of an attempt.
#[derive(Serialize, ToSchema)]
#[schema(as = SubmittedProofs, example = json!(Submitted::example()))]
pub struct Submitted {
    data: Vec<ProofBody>,
    task: SubmittedTask,
}

#[derive(Serialize, ToSchema)]
struct SubmittedTask {
    #[schema(value_type = Id)]
    id: String,
    status: Status,
    attempt_number: i64,
}

impl Submitted {
    /// A submission that was sent again is answered like the first one.
    pub async fn answer(
        app: &App,
        task: TaskId,
        (proofs, is_new): (Vec<Proof>, bool),
    ) -> Result<JsonResponse, ApiError> {
        let attempt_number = proofs.first().map_or(0, |proof| proof.attempt_number);
        let data = with_files(app, proofs).await?;
        let submitted = Self::of(task, attempt_number, data);
        let answer = JsonResponse::new(StatusCode::CREATED, &submitted)?;
        Ok(if is_new { answer } else { answer.replayed() })
    }

    fn of(task: TaskId, attempt_number: i64, data: Vec<ProofBody>) -> Self {
        Self {
            data,
            task: SubmittedTask {
                id: task.to_string(),
                status: Status::ProofSubmitted,
                attempt_number,
            },
        }
    }

    fn example() -> Value {
        let (proof, task) = (examples::proof(), examples::submitted().task);
        let file_url = examples::file_url(proof.id);
        let proof = ProofBody::of(proof, Some(file_url));
        examples::json(proof.map(|proof| Self::of(task.id, task.proof_attempts, vec![proof])))
    }
}
