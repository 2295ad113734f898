//! What admins have to look at.

use super::words::words;
use super::{QueueItemId, TaskId, Timestamp, VerificationFileId, WorkerId, rules};

words!(QueueKind {
    FlaggedProof = "flagged_proof",
    WorkerVerification = "worker_verification",
    Dispute = "dispute",
    FailedPayout = "failed_payout",
});

words!(QueueStatus {
    Open = "open",
    Closed = "closed",
});

#[derive(Clone, Debug)]
pub struct QueueItem {
    pub id: QueueItemId,
    pub kind: QueueKind,
    /// The id of the proof, the worker or the task.
    pub subject: String,
    pub task: Option<TaskId>,
    pub worker: Option<WorkerId>,
    pub status: QueueStatus,
    pub note: Option<String>,
    pub decided_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

impl QueueItem {
    pub fn new(id: QueueItemId, kind: QueueKind, subject: impl ToString, now: Timestamp) -> Self {
        Self {
            id,
            kind,
            subject: subject.to_string(),
            task: None,
            worker: None,
            status: QueueStatus::Open,
            note: None,
            decided_at: None,
            created_at: now,
        }
    }
}

/// A document that a worker has sent to be verified.
#[derive(Clone, Debug)]
pub struct VerificationFile {
    pub id: VerificationFileId,
    /// `identity` or `selfie`.
    pub kind: String,
    pub key: String,
    pub content_type: String,
    pub sha256: String,
}

pub fn note(text: &str) -> Result<String, String> {
    rules::text(text, 1, 2_000)
}
