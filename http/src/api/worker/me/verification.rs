//! POST /v1/worker/verification

use axum::extract::{Request, State};
use axum::http::StatusCode;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::middleware::limits::uploads::{Reserved, UploadPermit};
use crate::api::openapi::{errors, groups};
use crate::api::request::body;
use crate::api::request::fields::NoFields;
use crate::api::request::multipart::{self, FilePart, Form, FormBody, Wanted, form_bodies};
use crate::api::response::json::JsonResponse;
use crate::api::response::workers::with_payout_status;
use crate::domain::proofs::uploads::DOCUMENT_BYTES_A_DAY;
use crate::domain::tasks::ProofType;
use crate::domain::{FieldError, VerificationFile, VerificationFileId, Worker};
use crate::files::{FileKey, Prefix};
use crate::limits::ClientAddress;
use crate::store::StoreError;
use crate::submission::Purpose;
use crate::usecases::UseCaseError;
use crate::views::worker::WorkerBody;
use crate::{ambient, submission, usecases};

/// Documents to be verified by.
pub struct SendDocuments;

impl FormBody for SendDocuments {
    type Texts = NoFields;
    const FILES: &'static [FilePart] = &[
        FilePart::required(
            "identity",
            "An identity document: JPEG or PNG.",
            DOCUMENT_BYTES,
        ),
        FilePart::required(
            "selfie",
            "A photo of the worker: JPEG or PNG.",
            DOCUMENT_BYTES,
        ),
    ];
}

const DOCUMENT_BYTES: u64 = ProofType::Photo.max_bytes();

form_bodies!(SendDocuments);

/// Send documents for verification
///
/// A photo of an identity document and a selfie. An admin reviews them. Confirm your e-mail address first.
#[utoipa::path(
    post, path = "/v1/worker/verification", tag = "Workers", operation_id = "sendDocuments",
    request_body(content = SendDocuments, content_type = "multipart/form-data"),
    responses((status = 201, description = "The worker is in review", body = WorkerBody),
        groups::Worker, groups::Body, errors::EmailNotConfirmed,
        errors::InvalidWorkerState, errors::FileTooLarge)
)]
pub async fn verification(
    State(app): State<App>,
    caller: WorkerCaller,
    client: ClientAddress,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let announced = multipart::announced(&request);
    let begun = match begin(&app, &caller.worker, client, announced).await {
        Ok(begun) => begun,
        Err(error) => return Err(body::refuse(error, request).await),
    };
    let (wanted, received) = (&begun.wanted, &begun.reserved.received);
    let form = multipart::read::<SendDocuments>(&app, request, wanted, received).await?;
    let files = keep_documents(&app, form).await?;
    let (worker, clock, written) = (caller.worker.id, app.clock.clone(), files.clone());
    let checked = app.checked_skills.clone();
    let sent = app
        .store
        .write(move |tx| usecases::send_verification(tx, worker, &written, &checked, clock.now()))
        .await;
    let (worker, unused) = match sent {
        Ok((worker, replaced)) => (Ok(worker), replaced),
        // Nobody knows whether it was committed; what nobody names is swept later.
        Err(error @ UseCaseError::Store(StoreError::Unavailable(_))) => (Err(error), Vec::new()),
        Err(error) => (Err(error), files),
    };
    for key in unused.iter().filter_map(|file| FileKey::parse(&file.key)) {
        if let Err(error) = app.files.delete(key).await {
            tracing::warn!(%error, %key, "cannot delete an identity document; a job will retry");
        }
    }
    let worker = worker?;
    let worker = with_payout_status(&app, worker).await?;
    JsonResponse::new(StatusCode::CREATED, &worker)
}

/// What is decided before the body is read.
struct Begun {
    wanted: Wanted,
    reserved: Reserved,
    _permit: UploadPermit,
}

async fn begin(
    app: &App,
    worker: &Worker,
    from: ClientAddress,
    announced: Option<u64>,
) -> Result<Begun, ApiError> {
    usecases::expect_confirmed_worker(worker, app.sends_mail)?;
    usecases::may_send_documents(worker)?;
    let permit = app.uploads.acquire_for_documents(worker.id, from).await?;
    let wanted = Wanted::files::<SendDocuments>(|_| true);
    let reserved = Reserved::new(
        app,
        worker.id,
        wanted.expect(announced)?,
        DOCUMENT_BYTES_A_DAY,
    )
    .await?;
    Ok(Begun {
        wanted,
        reserved,
        _permit: permit,
    })
}

async fn keep_documents(app: &App, form: Form) -> Result<Vec<VerificationFile>, ApiError> {
    let mut inspected = Vec::new();
    let mut errors = Vec::new();
    for (name, received) in form.files {
        match submission::inspect(Purpose::Document, ProofType::Photo, received).await? {
            Ok(file) => inspected.push((name, file)),
            Err(message) => errors.push(FieldError::new(name, message)),
        }
    }
    if !errors.is_empty() {
        return Err(ApiError::Validation(errors.into()));
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
