//! What workers upload: proof of their work, and documents to be verified by.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::answer::Answer;
use super::authentication::WorkerCaller;
use super::error::ApiError;
use super::idempotency::idempotency_key;
use super::openapi::{IdempotencyKeyHeader, errors};
use super::openapi_examples::ProofExample;
use super::path::TaskPath;
use super::proofs;
use super::submitting::{self, Circumstances, FILES, TEXTS, check_complete};
use super::uploads::{self, Expected, Form};
use super::workers::{WorkerBody, payout_status};
use crate::ambient;
use crate::domain::task::ProofType;
use crate::domain::{
    Fault, Proof, Status, Task, TaskId, VerificationFile, VerificationFileId, WorkerId,
};
use crate::files::{FileKey, Received, Shelf};
use crate::objects::proof::ProofBody;
use crate::usecases::{self, Refusal};

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
                data: proofs::with_files(app, proofs).await?,
                task: SubmittedTask {
                    id: task.to_string(),
                    status: Status::ProofSubmitted,
                    attempt_number,
                },
            },
        )
    }
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
    let (key, user_agent) = (
        idempotency_key(request.headers())?,
        agent(request.headers()),
    );
    let form = uploads::read(
        &app,
        request,
        &Expected {
            files: &FILES,
            texts: &TEXTS,
        },
    )
    .await?;
    let mut circumstances = Circumstances::of(&form, &user_agent)?;
    circumstances.submission_id = circumstances.submission_id.or(key);
    let (worker, id) = (caller.worker.id, path.id()?);
    let task = open_task(&app, worker, id, &circumstances).await?;
    let files = by_type(form);
    if let Some(task) = task {
        let types: Vec<_> = files.iter().map(|(proof_type, _)| *proof_type).collect();
        check_complete(&task, &types, circumstances.gps)?;
    }
    let kept = submitting::keep_all(&app, files).await?;
    let proofs = submitting::record(&app, circumstances, kept, move |tx, submission, now| {
        let task = usecases::own_task_to_prove(tx, worker, id)?;
        usecases::submit_proof(tx, &task, worker, submission, now)
    })
    .await?;
    Submitted::answer(&app, id, proofs).await
}

pub fn agent(headers: &HeaderMap) -> String {
    let agent = headers.get(header::USER_AGENT);
    let agent = agent.and_then(|value| value.to_str().ok());
    agent.unwrap_or("unknown").to_owned()
}

pub fn by_type(form: Form) -> Vec<(ProofType, Received)> {
    let typed = |(name, received)| Some((ProofType::parse(name)?, received));
    form.files.into_iter().filter_map(typed).collect()
}

/// The task, if it takes proof now: looked at before the files are, which may take a while. None for
/// a submission that has been made before.
async fn open_task(
    app: &App,
    worker: WorkerId,
    id: TaskId,
    circumstances: &Circumstances,
) -> Result<Option<Task>, ApiError> {
    let name = circumstances.submission_id.clone();
    let now = app.clock.now();
    let task = app
        .store
        .read(move |tx| {
            let task = tx.any_task(id)?.filter(Task::is_live);
            let task = task.filter(|task| task.worker == Some(worker));
            let task = task.ok_or(Refusal::TaskNotFound)?;
            let made = match &name {
                Some(name) => tx.submission(id, name)?.is_some(),
                None => false,
            };
            if made {
                return Ok(None);
            }
            task.act(crate::domain::Action::SubmitProof, now)?;
            Ok::<_, Refusal>(Some(task))
        })
        .await?;
    Ok(task)
}

const DOCUMENTS: [(&str, u64); 2] = [
    ("identity", ProofType::Photo.max_bytes()),
    ("selfie", ProofType::Photo.max_bytes()),
];

/// Documents: JPEG or PNG, at most 10,000,000 bytes each.
#[derive(ToSchema)]
#[allow(dead_code, reason = "documents the form that `verification` reads")]
pub struct SendDocuments {
    #[schema(format = Binary, content_media_type = "application/octet-stream")]
    identity: String,
    #[schema(format = Binary, content_media_type = "application/octet-stream")]
    selfie: String,
}

/// Send documents for verification
///
/// A picture of an identity document and one of the worker. An admin looks at them.
#[utoipa::path(
    post, path = "/v1/worker/verification", tag = "Workers", operation_id = "sendDocuments",
    request_body(content = SendDocuments, content_type = "multipart/form-data"),
    responses((status = 201, description = "The worker is in review", body = WorkerBody),
        errors::Common, errors::Body, errors::InvalidWorkerState)
)]
pub async fn verification(
    State(app): State<App>,
    caller: WorkerCaller,
    request: Request,
) -> Result<Answer, ApiError> {
    let form = uploads::read(
        &app,
        request,
        &Expected {
            files: &DOCUMENTS,
            texts: &[],
        },
    )
    .await?;
    let missing = DOCUMENTS.iter().filter(|(name, _)| !form.has_file(name));
    let faults: Vec<_> = missing
        .map(|(name, _)| Fault::new(*name, "is required"))
        .collect();
    if !faults.is_empty() {
        return Err(ApiError::Validation(faults));
    }
    let files = keep_documents(&app, form).await?;
    let (worker, clock, written) = (caller.worker.id, app.clock.clone(), files.clone());
    let sent = app
        .store
        .write(move |tx| usecases::send_verification(tx, worker, &written, clock.now()))
        .await;
    let worker = match sent {
        Ok(worker) => worker,
        Err(refusal) => {
            for key in files.iter().filter_map(|file| FileKey::parse(&file.key)) {
                let _ = app.files.delete(key).await;
            }
            return Err(refusal.into());
        }
    };
    let payout = payout_status(&app, worker.id).await?;
    Answer::new(StatusCode::CREATED, &WorkerBody::of(worker, payout))
}

async fn keep_documents(app: &App, form: Form) -> Result<Vec<VerificationFile>, ApiError> {
    let mut inspected = Vec::new();
    let mut faults = Vec::new();
    for (name, received) in form.files {
        match submitting::look_into(ProofType::Photo, received).await? {
            Ok(file) => inspected.push((name, file)),
            Err(message) => faults.push(Fault::new(name, message)),
        }
    }
    if !faults.is_empty() {
        return Err(ApiError::Validation(faults));
    }
    let mut files = Vec::new();
    for (name, file) in inspected {
        let content_type = file.inspected.content_type;
        let id = VerificationFileId::new(app.clock.now(), &ambient::random());
        let key = FileKey::new(Shelf::Proofs, id.as_u128());
        let stored = app.files.keep(file.received, key, content_type).await?;
        files.push(VerificationFile {
            id,
            kind: name.to_owned(),
            key: key.to_string(),
            content_type: content_type.to_owned(),
            sha256: stored.sha256,
        });
    }
    Ok(files)
}
