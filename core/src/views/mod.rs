//! Objects of the interface that more than one module writes as JSON: the API in responses, the use
//! cases in events.

pub mod actor;
pub mod event;
pub mod examples;
mod id;
pub mod mandate;
mod object;
pub mod payment;
pub mod proof;
pub mod push_settings;
pub mod quote;
pub mod task;
pub mod worker;

pub use id::Id;
use serde::Serialize;

use crate::store::StoreError;

pub fn to_json<B: Serialize>(body: &B) -> Result<String, StoreError> {
    serde_json::to_string(body)
        .map_err(|e| StoreError::Failed(format!("object cannot be serialized: {e}")))
}
