//! POST /v1/test_helpers/tasks/{id}/advance

use axum::extract::State;
use serde_json::json;

use crate::api::App;
use crate::api::developer::test_helpers::only_in_test;
use crate::api::developer::test_helpers::proofs::{SIMULATED_DEVICE, sample};
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::domain::{Action, Status, Submission, Task};
use crate::store::Tx;
use crate::submission::StoredFiles;
use crate::usecases::{self, UseCaseError};
use crate::views::task::TaskBody;

pub struct Advance {
    to: Option<Status>,
}

impl RequestBody for Advance {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let to = fields
            .doc("The status to reach. The next step of the happy path when left out.")
            .optional_choice("to");
        Some(Self { to })
    }
}

request_bodies! {
    Advance = json!({"to": "proof_submitted"});
}

/// Advance a test task
///
/// Takes the next step of the happy path (funded, posted, assigned, in_progress, proof_submitted),
/// or goes to any status that can be reached from the current one. A simulated worker, the clock
/// and a simulated admin make the moves.
#[utoipa::path(
    post, path = "/v1/test_helpers/tasks/{id}/advance", tag = "Test helpers",
    operation_id = "advanceTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    request_body = Advance,
    responses((status = 200, description = "The task", body = TaskBody),
        groups::Developer, groups::Body, groups::Idempotency, errors::TestModeOnly,
        errors::TaskNotFound, errors::InvalidTaskState, errors::StorageFull)
)]
pub async fn advance(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let owner = only_in_test(&caller)?;
    let holder = caller.holder;
    let Advance { to } = post.read()?;
    let id = path.id()?;
    let task = app.store.read(move |tx| tx.task_of(owner, id)).await?;
    let prepare = async {
        // Files for every submission on the path.
        let mut kept = Vec::new();
        if let Some(task) = &task {
            for _ in 0..submissions(task, to)? {
                kept.push(sample_files(&app, task).await?);
            }
        }
        Ok(kept)
    };
    let quota = app.submissions.quota;
    let walk = move |tx: &mut Tx<'_>, now, kept: &Vec<StoredFiles>| {
        let task = tx
            .task_to_change(owner, id)?
            .ok_or(UseCaseError::TaskNotFound)?;
        let submission = |kept: &StoredFiles, task: &Task| Submission {
            gps: Some(task.place()),
            accuracy_meters: None,
            device_info: SIMULATED_DEVICE.to_owned(),
            captures: Vec::new(),
            submission_id: None,
            files: kept.files.clone(),
            quota,
        };
        let submissions = kept.iter().map(|kept| submission(kept, &task)).collect();
        usecases::advance_task(tx, task, &holder, to, submissions, now)
    };
    Idempotent::new(&app, caller.requester(), post)
        .of_account(caller.owner().account)
        .prepare(prepare)
        .run(walk, TaskBody::json)
        .await
}

/// The number of submissions on the path.
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
