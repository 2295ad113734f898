//! What an account asked: for developers who look for what went wrong.

use crate::domain::{ApiKeyId, LogId, Owner, Timestamp};

/// A request and its answer, without bodies, queries and secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    pub id: LogId,
    pub owner: Owner,
    pub key: ApiKeyId,
    pub method: String,
    pub path: String,
    pub status: i64,
    /// Of an error.
    pub code: Option<String>,
    /// Until the answer began.
    pub duration_us: i64,
    pub request_id: String,
    pub created_at: Timestamp,
}

/// Longer paths are cut: none of ours is.
pub const LONGEST_PATH: usize = 200;
