//! The objects of the interface that more than one room writes as JSON: the API into its answers, the
//! use cases into events.

pub mod actor;
pub mod dispute;
pub mod event;
pub mod examples;
pub mod history;
mod id;
pub mod payment;
pub mod proof;
pub mod task;
pub mod worker;

pub use id::Id;
use serde::Serialize;

use crate::store::StoreError;

pub fn to_json<B: Serialize>(body: &B) -> Result<String, StoreError> {
    serde_json::to_string(body).map_err(|e| StoreError::Failed(format!("unwritable object: {e}")))
}
