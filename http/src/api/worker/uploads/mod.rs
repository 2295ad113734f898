//! /v1/worker/uploads: files in several requests, by the tus protocol 1.0.

mod protocol;
mod receiving;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::body;
use crate::api::request::idempotency::idempotency_key;
use crate::api::request::path::IdPath;
use crate::domain::UploadId;
use crate::usecases::{self, UseCaseError};
use protocol::{Chunk, OFFSET, expires, said};

pub use protocol::{ChunkHeaders, CreationHeaders, TusHeader, discover};

impl IdPath<UploadId> {
    fn upload(&self) -> Result<UploadId, UseCaseError> {
        self.0.ok_or(UseCaseError::UploadNotFound)
    }
}

/// Begin an upload
///
/// For a file of a proof that is sent in several requests ([tus](https://tus.io/protocols/resumable-upload) 1.0). The answer
/// names the upload in `Location`. A body is its first bytes. Sent again with the same `Idempotency-Key`, it finds
/// the same upload.
#[utoipa::path(
    post, path = "/v1/worker/uploads", tag = "Workers", operation_id = "createUpload",
    params(TusHeader, CreationHeaders, IdempotencyKeyHeader),
    request_body(content = inline(protocol::Bytes), content_type = protocol::OCTETS),
    responses((status = 201, description = "Begun", headers(
            ("Location" = String, description = "Where the upload is: `/v1/worker/uploads/{id}`"),
            ("Upload-Offset" = u64, description = "How many bytes there are"),
            ("Upload-Expires" = String, description = "When it is deleted unless more bytes come"))),
        groups::Worker, errors::ValidationError, errors::RequestTimeout, errors::TaskNotFound, errors::InvalidTaskState,
        errors::OffsetMismatch, errors::UploadGone, errors::TusVersionUnsupported, errors::FileTooLarge,
        errors::IdempotencyMismatch, errors::TooManyUploads)
)]
pub async fn create(
    State(app): State<App>,
    caller: WorkerCaller,
    request: Request,
) -> Result<Response, ApiError> {
    let worker = caller.worker.id;
    let new = protocol::new_upload(request.headers());
    let new = new.and_then(|new| Ok((new, idempotency_key(request.headers())?)));
    let (mut new, name) = match new {
        Ok(new) => new,
        Err(error) => return Err(body::refuse(error, request).await),
    };
    new.name = name;
    let clock = app.clock.clone();
    let id = UploadId::new(clock.now(), &ambient::random_for_id());
    let begin = move |tx: &mut crate::store::Tx<'_>| {
        usecases::begin_upload(tx, worker, id, &new, clock.now())
    };
    let begun = app.store.write::<_, UseCaseError, _>(begin).await;
    let mut upload = match begun {
        Ok(upload) => upload,
        Err(error) => return Err(body::refuse(error.into(), request).await),
    };
    match Chunk::first(request.headers()) {
        Some(chunk) if upload.id == id => {
            upload = receiving::receive(&app, worker, id, chunk?, request).await?;
        }
        _ => body::drain(request.into_body()).await,
    }
    let location = format!("/v1/worker/uploads/{}", upload.id);
    let headers = [
        (header::LOCATION, said(&location)),
        (OFFSET, upload.received_bytes.into()),
        expires(&upload),
    ];
    Ok((StatusCode::CREATED, headers).into_response())
}

/// Get the offset of an upload
///
/// How many bytes have arrived: go on there.
#[utoipa::path(
    head, path = "/v1/worker/uploads/{id}", tag = "Workers", operation_id = "headUpload",
    params(("id" = inline(parameters::UploadId), Path, description = "Upload ID"), TusHeader),
    responses((status = 200, description = "How much there is", headers(
            ("Upload-Offset" = u64, description = "How many bytes there are"),
            ("Upload-Length" = u64, description = "How many there will be"),
            ("Upload-Metadata" = String, description = "As it was sent"),
            ("Upload-Expires" = String, description = "When it is deleted unless more bytes come"))),
        groups::Worker, errors::UploadNotFound, errors::UploadGone, errors::TusVersionUnsupported)
)]
pub async fn head(
    State(app): State<App>,
    caller: WorkerCaller,
    path: IdPath<UploadId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    protocol::check_version(&headers)?;
    let (worker, id, now) = (caller.worker.id, path.upload()?, app.clock.now());
    let read = app
        .store
        .read(move |tx| usecases::own_upload(tx, worker, id, now));
    let upload = read.await?;
    let headers = [
        (OFFSET, upload.received_bytes.into()),
        (protocol::LENGTH, upload.new.size_bytes.into()),
        (protocol::METADATA, said(&upload.new.metadata)),
        expires(&upload),
        (header::CACHE_CONTROL, said("no-store")),
    ];
    Ok((StatusCode::OK, headers).into_response())
}

/// Add to an upload
///
/// The next bytes. What arrived before a connection broke is kept, unless the request has a checksum.
#[utoipa::path(
    patch, path = "/v1/worker/uploads/{id}", tag = "Workers", operation_id = "appendUpload",
    params(("id" = inline(parameters::UploadId), Path, description = "Upload ID"), TusHeader, ChunkHeaders),
    request_body(content = inline(protocol::Bytes), content_type = protocol::OCTETS),
    responses((status = 204, description = "Stored", headers(
            ("Upload-Offset" = u64, description = "How many bytes there are"),
            ("Upload-Expires" = String, description = "When it is deleted unless more bytes come"))),
        groups::Worker, errors::ValidationError, errors::RequestTimeout, errors::UploadNotFound, errors::TaskNotFound,
        errors::InvalidTaskState, errors::OffsetMismatch, errors::UploadGone, errors::TusVersionUnsupported,
        errors::FileTooLarge, errors::UnsupportedMediaType, errors::ChecksumMismatch)
)]
pub async fn append(
    State(app): State<App>,
    caller: WorkerCaller,
    path: IdPath<UploadId>,
    request: Request,
) -> Result<Response, ApiError> {
    let chunk = Chunk::next(request.headers()).and_then(|chunk| Ok((chunk, path.upload()?)));
    let (chunk, id) = match chunk {
        Ok(chunk) => chunk,
        Err(error) => return Err(body::refuse(error, request).await),
    };
    let upload = receiving::receive(&app, caller.worker.id, id, chunk, request).await?;
    let headers = [(OFFSET, upload.received_bytes.into()), expires(&upload)];
    Ok((StatusCode::NO_CONTENT, headers).into_response())
}

/// Delete an upload
#[utoipa::path(
    delete, path = "/v1/worker/uploads/{id}", tag = "Workers", operation_id = "deleteUpload",
    params(("id" = inline(parameters::UploadId), Path, description = "Upload ID"), TusHeader),
    responses((status = 204, description = "Deleted"),
        groups::Worker, errors::UploadNotFound, errors::UploadGone, errors::TusVersionUnsupported)
)]
pub async fn delete(
    State(app): State<App>,
    caller: WorkerCaller,
    path: IdPath<UploadId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    protocol::check_version(&headers)?;
    let (worker, id, clock) = (caller.worker.id, path.upload()?, app.clock.clone());
    let delete = app
        .store
        .write(move |tx| usecases::delete_upload(tx, worker, id, clock.now()));
    delete.await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
