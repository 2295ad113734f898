//! GET /v1/tasks/{id}/bundle

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, header};
use futures_util::stream;
use tokio::sync::mpsc;

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::path::TaskPath;
use crate::bundles::{BundleParts, send_bundle};
use crate::domain::proofs::bundles::BundleSigner;
use crate::limits::ClientAddress;
use crate::records::task_record;
use crate::usecases::{self, UseCaseError};

/// Pieces that wait to be sent. Each is a chunk of a file at most.
const PIECES: usize = 2;

/// Get the proof bundle of a task
///
/// A ZIP file with the task, every proof and file, evidence, history and ledger, and a manifest of
/// hashes that is signed with the service's Ed25519 key. `legwork bundle verify` checks it offline.
#[utoipa::path(
    get, path = "/v1/tasks/{id}/bundle", tag = "Proofs", operation_id = "getBundle",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "The bundle", body = String,
            content_type = "application/zip", example = "PK..."),
        groups::Developer, errors::TaskNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    client: ClientAddress,
    path: TaskPath,
) -> Result<Response<Body>, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let permit = app.file_limits.acquire(client)?;
    let record = app.store.snapshot(move |tx| {
        let task = tx.task_of(owner, id)?.ok_or(UseCaseError::TaskNotFound)?;
        task_record(tx, task)
    });
    let parts = BundleParts {
        record: record.await?,
        signer: signer(&app).await?,
        made_at: app.clock.now(),
    };
    let (to, from) = mpsc::channel(PIECES);
    let files = app.files.clone();
    tokio::spawn(async move {
        send_bundle(parts, files, to).await;
        drop(permit);
    });
    let pieces = stream::unfold(from, |mut from| async move {
        let piece = from.recv().await?;
        Some((piece, from))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let name = format!("attachment; filename=\"legwork-task-{id}.zip\"");
    let name = HeaderValue::try_from(name).unwrap_or(HeaderValue::from_static("attachment"));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/zip"),
    );
    headers.insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}

/// Read for each bundle, since another server or a command may have rotated it.
async fn signer(app: &App) -> Result<BundleSigner, ApiError> {
    let known = app.store.read(usecases::bundle_signer).await?;
    if let Some(signer) = known {
        return Ok(signer);
    }
    let (seed, clock) = (ambient::random::<32>(), app.clock.clone());
    let made = app
        .store
        .write(move |tx| usecases::make_bundle_key(tx, &seed, clock.now()));
    Ok(made.await?)
}
