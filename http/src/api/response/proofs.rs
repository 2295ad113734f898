//! Proofs with fresh URLs of their files.

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::Page;
use crate::domain::{Proof, ProofFile, ProofId, Task};
use crate::files::FileKey;
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::views::proof::ProofBody;

/// A proof with a fresh URL of its file, unless the file was deleted.
pub async fn with_file(app: &App, proof: Proof) -> Result<ProofBody, ApiError> {
    if proof.files_deleted_at.is_some() {
        return Ok(ProofBody::of(proof, None)?);
    }
    let file_url = file_url(app, proof.id, &proof.file).await?;
    Ok(ProofBody::of(proof, Some(file_url))?)
}

/// A fresh URL of the file of a proof.
pub async fn file_url(app: &App, id: ProofId, file: &ProofFile) -> Result<String, ApiError> {
    let unreadable = || StoreError::Failed(format!("the file of {id} has no key"));
    let key = FileKey::parse(&file.key).ok_or_else(unreadable)?;
    let now = app.clock.now();
    Ok(app.files.signed_url(key, &file.content_type, now).await?)
}

/// A page of the proofs of the task that `find` finds for whoever asks.
pub async fn page_of(
    app: &App,
    mut find: impl FnMut(&mut Tx<'_>) -> Result<Option<Task>, StoreError> + Send + 'static,
    page: Page,
) -> Result<JsonResponse, ApiError> {
    let read = app.store.snapshot(move |tx| {
        let task = find(tx)?.ok_or(UseCaseError::TaskNotFound)?;
        Ok::<_, UseCaseError>(tx.proofs_of(task.id, page.limit, page.offset)?)
    });
    let (proofs, total) = read.await?;
    JsonResponse::ok(&page.list(with_files(app, proofs).await?, total))
}

pub async fn with_files(app: &App, proofs: Vec<Proof>) -> Result<Vec<ProofBody>, ApiError> {
    let mut bodies = Vec::with_capacity(proofs.len());
    for proof in proofs {
        bodies.push(with_file(app, proof).await?);
    }
    Ok(bodies)
}
