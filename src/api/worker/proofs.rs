//! POST /v1/worker/tasks/{id}/proofs

use axum::extract::{Request, State};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors};
use crate::api::request::idempotency::idempotency_key;
use crate::api::request::path::TaskPath;
use crate::api::request::{multipart, submission};
use crate::api::response::json::Answer;
use crate::api::response::submitted::Submitted;
use crate::domain::Submission;
use crate::store::Tx;
use crate::usecases::{self, UseCaseError};

/// A form with one file for each type that the task asks for.
#[derive(ToSchema)]
#[allow(dead_code, reason = "documents the form that `submit` reads")]
pub struct SubmitProof {
    /// JPEG or PNG, at most 10,000,000 bytes.
    #[schema(format = Binary, content_media_type = "application/octet-stream")]
    photo: Option<String>,
    /// MP4, at most 100,000,000 bytes.
    #[schema(format = Binary, content_media_type = "application/octet-stream")]
    video: Option<String>,
    /// PNG, at most 1,000,000 bytes.
    #[schema(format = Binary, content_media_type = "application/octet-stream")]
    signature: Option<String>,
    /// Where it was taken. Required, unless the task asks for a signature only.
    #[schema(minimum = -90, maximum = 90)]
    gps_latitude: Option<f64>,
    #[schema(minimum = -180, maximum = 180)]
    gps_longitude: Option<f64>,
    /// How exact the device says its position is.
    #[schema(minimum = 0)]
    gps_accuracy_meters: Option<f64>,
    /// A JSON object; `user_agent` and `platform` are filled in when left out.
    device_info: Option<String>,
    /// Your own name for this submission: sent again, it does nothing and gets the same answer.
    #[schema(min_length = 1, max_length = 255)]
    submission_id: Option<String>,
}

/// Submit proof
///
/// One attempt. Over a bad network send it again with the same `submission_id` or
/// `Idempotency-Key`: it counts once.
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/proofs", tag = "Workers", operation_id = "submitProof",
    params(("id" = String, Path, description = "Task id"), IdempotencyKeyHeader),
    request_body(content = SubmitProof, content_type = "multipart/form-data"),
    responses((status = 201, description = "The proofs", body = Submitted),
        errors::Common, errors::Body, errors::TaskNotFound, errors::InvalidTaskState)
)]
pub async fn submit(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    request: Request,
) -> Result<Answer, ApiError> {
    let key = idempotency_key(request.headers())?;
    let user_agent = submission::user_agent(request.headers());
    let form = multipart::read(&app, request, &submission::PARTS).await?;
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
        usecases::submit_proof(tx, &task, worker, submission, now)
    };
    let proofs = app.submissions.record(details, stored, record).await?;
    Submitted::answer(&app, id, proofs).await
}
