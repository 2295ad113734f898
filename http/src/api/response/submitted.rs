//! The proofs of an attempt that was just submitted.

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::response::json::JsonResponse;
use crate::api::response::proofs::{file_url, with_files};
use crate::domain::{Proof, ProofId, Status, SubmittedFile, TaskId};
use crate::store::StoreError;
use crate::views::proof::ProofBody;
use crate::views::{Id, examples, to_json};

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
    /// The response to a new submission, whose files have these URLs.
    pub fn body(task: TaskId, proofs: &[Proof], urls: &FileUrls) -> Result<String, StoreError> {
        let with_url = |proof: &Proof| ProofBody::of(proof.clone(), urls.of(proof.id));
        let data = proofs.iter().map(with_url).collect::<Result<_, _>>()?;
        to_json(&Self::of(task, attempt_of(proofs), data))
    }

    /// The response to a submission that was recorded before.
    pub async fn again(
        app: &App,
        task: TaskId,
        proofs: Vec<Proof>,
    ) -> Result<JsonResponse, ApiError> {
        let attempt = attempt_of(&proofs);
        let submitted = Self::of(task, attempt, with_files(app, proofs).await?);
        Ok(JsonResponse::new(StatusCode::CREATED, &submitted)?.replayed())
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

fn attempt_of(proofs: &[Proof]) -> i64 {
    proofs.first().map_or(0, |proof| proof.attempt_number)
}

/// Where the files of proofs can be read. Made before the proofs are stored, because a transaction cannot wait
/// for it.
pub struct FileUrls(Vec<(ProofId, String)>);

impl FileUrls {
    pub async fn new(app: &App, files: &[SubmittedFile]) -> Result<Self, ApiError> {
        let mut urls = Vec::with_capacity(files.len());
        for sent in files {
            urls.push((sent.id, file_url(app, sent.id, &sent.file).await?));
        }
        Ok(Self(urls))
    }

    fn of(&self, proof: ProofId) -> Option<String> {
        let mut urls = self.0.iter();
        urls.find(|(id, _)| *id == proof)
            .map(|(_, url)| url.clone())
    }
}
