//! GET /.well-known/legwork-keys.json: the keys by which proof bundles are checked.

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::openapi::groups;
use crate::api::response::json::JsonResponse;
use crate::bundles::PublishedKeys;
use crate::store::StoreError;

/// Get the keys of proof bundles
///
/// All that ever signed, newest first. With them you check a bundle offline.
#[utoipa::path(
    get, path = "/.well-known/legwork-keys.json", tag = "Proofs", operation_id = "getBundleKeys",
    responses((status = 200, description = "The keys", body = PublishedKeys), groups::Anybody)
)]
pub async fn get(State(app): State<App>) -> Result<JsonResponse, ApiError> {
    let keys = app.store.snapshot(|tx| tx.bundle_keys()).await;
    let keys = keys.map_err(|error: StoreError| error)?;
    JsonResponse::ok(&PublishedKeys::of(&keys))
}
