//! Ids in paths. A malformed one is simply not found.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use crate::api::error::ApiError;
use crate::domain::{
    AccountId, AdminKeyId, ApiKeyId, EventId, NotificationId, ProofId, QueueItemId, QuoteId,
    TaskId, UploadId, WorkerId,
};
use crate::usecases::UseCaseError;

pub struct TaskPath(pub Option<TaskId>);

impl TaskPath {
    /// The ID. Call it after the body and the query were checked: existence is checked last.
    pub fn id(&self) -> Result<TaskId, UseCaseError> {
        self.0.ok_or(UseCaseError::TaskNotFound)
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
    pub fn id(&self) -> Result<ApiKeyId, UseCaseError> {
        self.0.ok_or(UseCaseError::KeyNotFound)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for KeyPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Self(parameter(parts, state, ApiKeyId::parse).await))
    }
}

/// A proof of a task.
pub struct ProofPath {
    task: Option<TaskId>,
    proof: Option<ProofId>,
}

impl ProofPath {
    /// The task must exist before the proof is looked up, so a malformed proof ID is reported later.
    pub fn ids(&self) -> Result<(TaskId, Option<ProofId>), UseCaseError> {
        Ok((self.task.ok_or(UseCaseError::TaskNotFound)?, self.proof))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ProofPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Self {
            task: parameter(parts, state, TaskId::parse).await,
            proof: named(parts, state, "proof_id", ProofId::parse).await,
        })
    }
}

/// An API key of an account.
pub struct AccountKeyPath {
    pub account: Option<AccountId>,
    pub key: Option<ApiKeyId>,
}

impl<S: Send + Sync> FromRequestParts<S> for AccountKeyPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(Self {
            account: parameter(parts, state, AccountId::parse).await,
            key: named(parts, state, "key_id", ApiKeyId::parse).await,
        })
    }
}

/// A session of a worker.
pub struct SessionPath(Option<String>);

impl SessionPath {
    pub fn id(self) -> Result<String, UseCaseError> {
        self.0.ok_or(UseCaseError::SessionNotFound)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SessionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let parse = |text: &str| {
            let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_id.then(|| text.to_owned())
        };
        Ok(Self(parameter(parts, state, parse).await))
    }
}

/// The id of anything else.
pub struct IdPath<T>(pub Option<T>);

macro_rules! id_paths {
    ($($id:ident),+) => { $(
        impl<S: Send + Sync> FromRequestParts<S> for IdPath<$id> {
            type Rejection = ApiError;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
                Ok(Self(parameter(parts, state, $id::parse).await))
            }
        }
    )+ };
}

id_paths!(
    AccountId,
    AdminKeyId,
    EventId,
    NotificationId,
    QueueItemId,
    QuoteId,
    UploadId,
    WorkerId
);

async fn parameter<S: Send + Sync, T>(
    parts: &mut Parts,
    state: &S,
    parse: fn(&str) -> Option<T>,
) -> Option<T> {
    named(parts, state, "id", parse).await
}

async fn named<S: Send + Sync, T>(
    parts: &mut Parts,
    state: &S,
    name: &str,
    parse: fn(&str) -> Option<T>,
) -> Option<T> {
    // Fails if the decoded path is not UTF-8: that is no ID of ours either.
    let parameters = RawPathParams::from_request_parts(parts, state).await.ok()?;
    let (_, value) = parameters.iter().find(|(found, _)| *found == name)?;
    parse(value)
}
