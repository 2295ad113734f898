//! What can go wrong.

use serde::Deserialize;
use serde_json::Value;

use crate::{ErrorCode, ErrorContent, FieldError};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server answered and refused.
    #[error(transparent)]
    Api(Box<ApiError>),
    /// The server could not be reached, or the connection broke.
    #[error("{url} cannot be reached: {reason}")]
    Network { url: String, reason: String },
    /// The server did not answer in time.
    #[error("{url} did not answer in time")]
    Timeout { url: String },
    /// What came back is not an answer of this API.
    #[error("{url} did not answer as Legwork does: {reason}")]
    Answer { url: String, reason: String },
    /// `wait_until` gave up. The task has this status.
    #[error("the task is still {status} after {seconds} seconds")]
    StillWaiting { status: String, seconds: u64 },
    /// `wait_until` cannot end otherwise: the task has this status for good.
    #[error("the task is {status}, and stays so")]
    TaskEnded { status: String },
    /// Events between these two numbers are no longer kept. The stream goes on after them.
    #[error("the events after number {after} and before number {before} are no longer kept")]
    EventsLost { after: i64, before: i64 },
    /// A webhook that is not from Legwork, was changed, or is too old.
    #[error("the webhook is not valid: {0}")]
    Webhook(&'static str),
    /// The client cannot be made like this.
    #[error("{0}")]
    Setup(String),
}

impl Error {
    /// The code of a refusal.
    pub fn code(&self) -> Option<&ErrorCode> {
        match self {
            Self::Api(refused) => Some(&refused.code),
            _ => None,
        }
    }

    /// Whether the server was not reached, or did not answer.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Network { .. } | Self::Timeout { .. } | Self::Answer { .. }
        )
    }
}

/// A refusal: `error` of the answer, and its status.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message} ({code}, request {request_id})")]
pub struct ApiError {
    pub status: u16,
    pub code: ErrorCode,
    pub message: String,
    /// The server's log has the same.
    pub request_id: String,
    /// A list of fields for `VALIDATION_ERROR`; other codes may have other details.
    pub details: Value,
    /// Seconds, from `Retry-After`.
    pub retry_after: Option<u64>,
}

impl ApiError {
    /// The fields that are wrong.
    pub fn fields(&self) -> Vec<FieldError> {
        serde_json::from_value(self.details.clone()).unwrap_or_default()
    }
}

#[derive(Deserialize)]
pub(crate) struct Refusal {
    pub error: ErrorContent,
}
