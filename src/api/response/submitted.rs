//! The proofs of an attempt that was just submitted.

use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::response::json::Answer;
use crate::api::response::proofs::with_files;
use crate::domain::{Proof, Status, TaskId};
use crate::views::examples::ProofExample;
use crate::views::proof::ProofBody;

/// The proofs of an attempt.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(ProofExample::Submitted.value()))]
pub struct Submitted {
    data: Vec<ProofBody>,
    task: SubmittedTask,
}

#[derive(Serialize, ToSchema)]
struct SubmittedTask {
    id: String,
    status: Status,
    attempt_number: i64,
}

impl Submitted {
    pub async fn answer(app: &App, task: TaskId, proofs: Vec<Proof>) -> Result<Answer, ApiError> {
        let attempt_number = proofs.first().map_or(0, |proof| proof.attempt_number);
        Answer::new(
            StatusCode::CREATED,
            &Self {
                data: with_files(app, proofs).await?,
                task: SubmittedTask {
                    id: task.to_string(),
                    status: Status::ProofSubmitted,
                    attempt_number,
                },
            },
        )
    }
}
