//! POST /v1/worker/verification

use axum::extract::{Request, State};
use axum::http::StatusCode;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::errors;
use crate::api::request::multipart::{self, Expected, Form};
use crate::api::response::json::Answer;
use crate::api::response::workers::with_payout_status;
use crate::domain::tasks::ProofType;
use crate::domain::{FieldError, VerificationFile, VerificationFileId};
use crate::files::{FileKey, Prefix};
use crate::views::worker::WorkerBody;
use crate::{ambient, submission, usecases};

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
    let form = multipart::read(
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
        .map(|(name, _)| FieldError::new(*name, "is required"))
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
    let worker = with_payout_status(&app, worker).await?;
    Answer::new(StatusCode::CREATED, &worker)
}

async fn keep_documents(app: &App, form: Form) -> Result<Vec<VerificationFile>, ApiError> {
    let mut inspected = Vec::new();
    let mut faults = Vec::new();
    for (name, received) in form.files {
        match submission::inspect(ProofType::Photo, received).await? {
            Ok(file) => inspected.push((name, file)),
            Err(message) => faults.push(FieldError::new(name, message)),
        }
    }
    if !faults.is_empty() {
        return Err(ApiError::Validation(faults));
    }
    let mut files = Vec::new();
    for (name, file) in inspected {
        let content_type = file.inspected.content_type;
        let id = VerificationFileId::new(app.clock.now(), &ambient::random());
        let key = FileKey::new(Prefix::Proofs, id.as_u128());
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
