//! GET /.well-known/legwork-keys.json: the keys by which proof bundles are checked.

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::response::json::JsonResponse;
use crate::bundles::keys_json;
use crate::store::StoreError;

/// All that ever signed, newest first.
pub async fn get(State(app): State<App>) -> Result<JsonResponse, ApiError> {
    let keys = app.store.snapshot(|tx| tx.bundle_keys()).await;
    let keys = keys.map_err(|error: StoreError| error)?;
    JsonResponse::ok(&keys_json(&keys))
}
