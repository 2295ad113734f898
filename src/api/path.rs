//! Ids in paths. A malformed one is simply not found.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use super::error::ApiError;
use crate::domain::{ApiKeyId, TaskId};
use crate::usecases::Refusal;

pub struct TaskPath(pub Option<TaskId>);

impl TaskPath {
    /// The id, once the body and the query have been checked: existence comes after them.
    pub fn id(&self) -> Result<TaskId, Refusal> {
        self.0.ok_or(Refusal::TaskNotFound)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for TaskPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Self(parameter(parts, state, TaskId::parse).await))
    }
}

pub struct KeyPath(pub Option<ApiKeyId>);

impl KeyPath {
    pub fn id(&self) -> Result<ApiKeyId, Refusal> {
        self.0.ok_or(Refusal::KeyNotFound)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for KeyPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Self(parameter(parts, state, ApiKeyId::parse).await))
    }
}

async fn parameter<S: Send + Sync, T>(
    parts: &mut Parts,
    state: &S,
    parse: fn(&str) -> Option<T>,
) -> Option<T> {
    // Fails on a path that is not UTF-8 once decoded: no id of ours either.
    let parameters = RawPathParams::from_request_parts(parts, state).await.ok()?;
    let (_, value) = parameters.iter().find(|(name, _)| *name == "id")?;
    parse(value)
}
