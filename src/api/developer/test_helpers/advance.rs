//! POST /v1/test_helpers/tasks/{id}/advance

use axum::extract::State;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::developer::test_helpers::only_in_test;
use crate::api::developer::test_helpers::proofs::{SIMULATED_DEVICE, sample};
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors};
use crate::api::request::fields::Fields;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::TaskPath;
use crate::api::response::json::Answer;
use crate::domain::{Action, Status, Submission, Task};
use crate::store::Tx;
use crate::submission::StoredFiles;
use crate::usecases::{self, UseCaseError};
use crate::views::task::TaskBody;

/// Where to; without it, the next step of the happy path.
#[derive(ToSchema)]
#[schema(example = json!({"to": "proof_submitted"}))]
#[allow(dead_code, reason = "documents the body that `advance` reads")]
pub struct Advance {
    to: Option<Status>,
}

/// Move a test task on
///
/// By one step of the happy path (funded, posted, assigned, in_progress, proof_submitted), or to any
/// status that can be reached from where it is, by the moves of a simulated worker, of the clock and
/// of admins.
#[utoipa::path(
    post, path = "/v1/test_helpers/tasks/{id}/advance", tag = "Test helpers",
    operation_id = "advanceTask",
    params(("id" = String, Path, description = "Task id"), IdempotencyKeyHeader),
    request_body = Advance,
    responses((status = 200, description = "The task", body = TaskBody),
        errors::Common, errors::Body, errors::Idempotency, errors::TestModeOnly,
        errors::TaskNotFound, errors::InvalidTaskStateOrInFlight)
)]
pub async fn advance(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    post: Post,
) -> Result<Answer, ApiError> {
    let owner = only_in_test(&caller)?;
    let holder = caller.holder;
    let mut fields = Fields::of(&post.body);
    let to = fields.optional_text("to", Status::rule);
    fields.finish()?;
    let id = path.id()?;
    let task = app.store.read(move |tx| tx.task_of(owner, id)).await?;
    let prepare = async {
        // Files for as many submissions as the way can have.
        let mut kept = Vec::new();
        if let Some(task) = &task {
            for _ in 0..submissions(task, to)? {
                kept.push(sample_files(&app, task).await?);
            }
        }
        Ok(kept)
    };
    let walk = move |tx: &mut Tx<'_>, now, kept: &Vec<StoredFiles>| {
        let task = tx
            .task_to_change(owner, id)?
            .ok_or(UseCaseError::TaskNotFound)?;
        let submission = |kept: &StoredFiles, task: &Task| Submission {
            gps: Some(task.place()),
            accuracy_meters: None,
            device_info: SIMULATED_DEVICE.to_owned(),
            submission_id: None,
            files: kept.files.clone(),
        };
        let submissions = kept.iter().map(|kept| submission(kept, &task)).collect();
        usecases::advance_task(tx, task, &holder, to, submissions, now)
    };
    Idempotent::new(&app, caller.requester(), post)
        .prepare(prepare)
        .run(walk, TaskBody::json)
        .await
}

/// How many submissions lie on the way.
fn submissions(task: &Task, to: Option<Status>) -> Result<usize, ApiError> {
    let way = usecases::way(task, to)?;
    Ok(way
        .iter()
        .filter(|action| **action == Action::SubmitProof)
        .count())
}

async fn sample_files(app: &App, task: &Task) -> Result<StoredFiles, ApiError> {
    let mut files = Vec::new();
    for proof_type in &task.proof_types {
        files.push((*proof_type, sample(app, *proof_type).await?));
    }
    Ok(app.submissions.store_all(files).await?)
}
