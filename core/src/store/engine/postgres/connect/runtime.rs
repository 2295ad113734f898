//! The runtime of a thread that owns a connection.

use tokio::runtime::{Builder, Runtime};

use crate::store::engine::StoreError;

/// It runs on the thread that calls it, and there alone.
pub fn own_runtime() -> Result<Runtime, StoreError> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| StoreError::Unavailable(error.to_string()))
}
