//! POST /v1/worker/tasks/{id}/proofs

use axum::extract::{Request, State};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::middleware::client_address::ClientAddress;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::idempotency::idempotency_key;
use crate::api::request::multipart;
use crate::api::request::path::TaskPath;
use crate::api::request::submission::{self, SubmitProof};
use crate::api::response::json::JsonResponse;
use crate::api::response::submitted::Submitted;
use crate::domain::Submission;
use crate::store::Tx;
use crate::usecases::{self, UseCaseError};

/// Submit proof
///
/// One attempt, with one file for each type that the task asks for. After a network error, retry
/// with the same `submission_id` or `Idempotency-Key`: it counts once.
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/proofs", tag = "Workers", operation_id = "submitProof",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    request_body(content = SubmitProof, content_type = "multipart/form-data"),
    responses((status = 201, description = "The proofs", body = Submitted,
            links(("approve" = (operation_id = "approveProof", parameters(("id" = "$request.path.id"),
                    ("proof_id" = "$response.body#/data/0/id")))),
                ("reject" = (operation_id = "rejectProof", parameters(("id" = "$request.path.id"),
                    ("proof_id" = "$response.body#/data/0/id")))))),
        groups::Worker, groups::Body, errors::TaskNotFound, errors::InvalidTaskState, errors::FileTooLarge)
)]
pub async fn submit(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    address: ClientAddress,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let address = address.subscriber();
    let key = idempotency_key(request.headers())?;
    let user_agent = submission::user_agent(request.headers());
    let form = multipart::read::<SubmitProof>(&app, request).await?;
    let mut details = submission::details(&form, &user_agent)?;
    details.submission_id = details.submission_id.or(key);
    let (worker, id) = (caller.worker.id, path.id()?);
    let (name, now) = (details.submission_id.clone(), app.clock.now());
    let check = app.store.read(move |tx| {
        let task = usecases::own_task(tx, worker, id)?;
        let made = usecases::submission_was_made(tx, &task, name.as_deref(), now)?;
        Ok::<_, UseCaseError>((task, made))
    });
    let (task, made) = check.await?;
    let files = submission::files_by_type(form);
    if !made {
        submission::check_complete(&task, &files, &details)?;
    }
    let stored = app.submissions.store_all(files).await?;
    let record = move |tx: &mut Tx<'_>, submission: &Submission, now| {
        let task = usecases::own_task_to_prove(tx, worker, id)?;
        let submitted = usecases::submit_proof(tx, &task, worker, submission, now)?;
        usecases::flag_same_person(tx, &task, worker, address, now)?;
        Ok(submitted)
    };
    let proofs = app.submissions.record(details, stored, record).await?;
    Submitted::answer(&app, id, proofs).await
}
