//! A file that is sent in several requests, and used for a proof once it is whole.

use std::time::Duration;

use crate::domain::tasks::ProofType;
use crate::domain::{TaskId, Timestamp, UploadId, WorkerId};

/// How many uploads a worker can have begun and not used.
pub const OPEN_UPLOADS: i64 = 20;

/// How long an upload is kept after its last byte.
pub const KEPT: Duration = Duration::from_secs(72 * 60 * 60);

/// How long an upload is remembered after it has ended.
pub const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Bytes that came within this time hold the task for the worker.
pub const ALIVE: Duration = Duration::from_secs(15 * 60);

/// The largest file of all types.
pub const LARGEST: u64 = ProofType::Video.max_bytes();

/// What a worker says about a file before sending it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUpload {
    pub task: TaskId,
    pub proof_type: ProofType,
    pub size_bytes: i64,
    /// As the client sent it, to be told again.
    pub metadata: String,
    /// The client's own name for it, which makes a repeat find the same upload.
    pub name: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Upload {
    pub id: UploadId,
    pub worker: WorkerId,
    pub new: NewUpload,
    /// How many bytes are stored. The next one has this offset.
    pub received_bytes: i64,
    /// The request that may add bytes. Whoever came before has lost the right.
    pub writer: String,
    pub begun_at: Timestamp,
    pub last_byte_at: Timestamp,
    pub expires_at: Timestamp,
    /// When it was used, deleted, or deleted because it had expired.
    pub ended_at: Option<Timestamp>,
}

impl Upload {
    pub fn begin(id: UploadId, worker: WorkerId, new: NewUpload, now: Timestamp) -> Self {
        Self {
            id,
            worker,
            new,
            received_bytes: 0,
            writer: String::new(),
            begun_at: now,
            last_byte_at: now,
            expires_at: now.plus(KEPT),
            ended_at: None,
        }
    }

    pub fn is_over(&self, now: Timestamp) -> bool {
        self.ended_at.is_some() || self.expires_at <= now
    }

    pub fn is_whole(&self) -> bool {
        self.received_bytes == self.new.size_bytes
    }

    /// How many bytes are still to come.
    pub fn missing_bytes(&self) -> u64 {
        u64::try_from(self.new.size_bytes - self.received_bytes).unwrap_or(0)
    }
}

/// A stored piece of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadPart {
    /// The offset of its first byte.
    pub start_byte: i64,
    pub size_bytes: i64,
    pub key: String,
}

impl UploadPart {
    /// The offset after its last byte.
    pub fn end(&self) -> i64 {
        self.start_byte + self.size_bytes
    }
}
