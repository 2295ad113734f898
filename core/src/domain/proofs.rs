//! Proofs of work. One submission is one attempt, with one file for each proof type.

pub mod bundles;
pub mod capture;
pub mod uploads;

use crate::domain::geo::{Point, to_decimeter};
use crate::domain::proofs::capture::Capture;
use crate::domain::proofs::uploads::TEST_FILES_KEPT;
use crate::domain::rules::{NumberRule, TextRule};
use crate::domain::string_enum::string_enum;
use crate::domain::tasks::{ProofType, Task};
use crate::domain::{Environment, FieldError, ProofId, StorageQuota, TaskId, Timestamp, WorkerId};

/// The maximum distance between a proof and its task.
pub const VALID_METERS: f64 = 500.0;

string_enum!(ProofStatus {
    Pending = "pending",
    Approved = "approved",
    Rejected = "rejected",
});

impl ProofType {
    pub const fn max_bytes(self) -> u64 {
        match self {
            Self::Photo => 10_000_000,
            Self::Video => 100_000_000,
            Self::Signature => 1_000_000,
        }
    }

    /// Whether a proof of this type needs a GPS position.
    pub const fn needs_gps(self) -> bool {
        !matches!(self, Self::Signature)
    }
}

/// A stored file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofFile {
    /// The copy for the developer, without the camera's metadata.
    pub key: String,
    /// The original upload, kept for disputes.
    pub original_key: String,
    pub content_type: String,
    pub size_bytes: i64,
    pub sha256: String,
    /// What the original and the copy take together.
    pub stored_bytes: i64,
}

/// What the file's own metadata says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FileMetadata {
    pub taken_at: Option<Timestamp>,
    /// The camera gave no UTC offset, so `taken_at` may be off by hours.
    pub taken_at_is_local: bool,
    pub place: Option<Point>,
    pub perceptual_hash: Option<i64>,
}

#[derive(Clone, Debug)]
pub struct Proof {
    pub id: ProofId,
    pub task: TaskId,
    pub worker: WorkerId,
    pub attempt_number: i64,
    pub proof_type: ProofType,
    pub file: ProofFile,
    pub metadata: FileMetadata,
    pub gps: Option<Point>,
    pub accuracy_meters: Option<f64>,
    pub distance_meters: Option<f64>,
    pub geo_valid: bool,
    /// JSON, as sent.
    pub device_info: String,
    /// What the device says about how the file was made: a [`Capture`] as JSON.
    pub capture: Option<String>,
    pub status: ProofStatus,
    pub rejection_reason: Option<String>,
    pub reviewed_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// When the files of a test proof are deleted.
    pub files_expire_at: Option<Timestamp>,
    pub files_deleted_at: Option<Timestamp>,
}

/// A worker's submission, after its files were stored.
#[derive(Clone, Debug)]
pub struct Submission {
    pub gps: Option<Point>,
    pub accuracy_meters: Option<f64>,
    pub device_info: String,
    pub captures: Vec<(ProofType, Capture)>,
    /// What the sender calls it. Sent again under this name, it counts once.
    pub submission_id: Option<String>,
    pub files: Vec<SubmittedFile>,
    /// How much the developer of the task may store.
    pub quota: StorageQuota,
}

#[derive(Clone, Debug)]
pub struct SubmittedFile {
    pub id: ProofId,
    pub proof_type: ProofType,
    pub file: ProofFile,
    pub metadata: FileMetadata,
}

impl Submission {
    /// What its files take in storage.
    pub fn stored_bytes(&self) -> i64 {
        self.files.iter().map(|sent| sent.file.stored_bytes).sum()
    }

    fn capture_of(&self, proof_type: ProofType) -> Option<String> {
        let mut captures = self.captures.iter();
        let found = captures.find(|(of, _)| *of == proof_type);
        found.map(|(_, capture)| capture.to_json())
    }

    /// The proofs of this attempt. `task` has already counted the attempt.
    pub fn proofs(&self, task: &Task, worker: WorkerId, now: Timestamp) -> Vec<Proof> {
        let proof = |sent: &SubmittedFile| {
            let distance = self.gps.map(|gps| gps.distance_meters(task.place()));
            let distance = distance.map(to_decimeter);
            Proof {
                id: sent.id,
                task: task.id,
                worker,
                attempt_number: task.proof_attempts,
                proof_type: sent.proof_type,
                file: sent.file.clone(),
                metadata: sent.metadata,
                gps: self.gps,
                accuracy_meters: self.accuracy_meters,
                distance_meters: distance,
                geo_valid: distance.is_some_and(is_near),
                device_info: self.device_info.clone(),
                capture: self.capture_of(sent.proof_type),
                status: ProofStatus::Pending,
                rejection_reason: None,
                reviewed_at: None,
                created_at: now,
                files_expire_at: match task.owner.environment {
                    Environment::Live => None,
                    // By the id: the clock of a test environment may be far ahead.
                    Environment::Test => Some(sent.id.made_at().plus(TEST_FILES_KEPT)),
                },
                files_deleted_at: None,
            }
        };
        self.files.iter().map(proof).collect()
    }
}

/// Whether a rounded distance is close enough.
fn is_near(meters: f64) -> bool {
    meters <= VALID_METERS
}

impl Proof {
    /// Whether a reviewer should check where it was taken. A signature needs no position.
    pub fn is_suspect(&self) -> bool {
        !self.geo_valid && (self.proof_type.needs_gps() || self.gps.is_some())
    }
}

/// What is missing from a submission, or should not be there. A submission has one file for each
/// proof type of the task, no other files, and a GPS position if a type needs one.
pub fn incomplete(task: &Task, types: &[ProofType], gps: Option<Point>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for wanted in &task.proof_types {
        if !types.contains(wanted) {
            errors.push(FieldError::new(wanted.as_str(), "is required by this task"));
        }
    }
    for given in types {
        if !task.proof_types.contains(given) {
            let message = "is not a proof type of this task";
            errors.push(FieldError::new(given.as_str(), message));
        }
    }
    if gps.is_none() && task.proof_types.iter().any(|wanted| wanted.needs_gps()) {
        for name in ["gps_latitude", "gps_longitude"] {
            errors.push(FieldError::new(name, "is required"));
        }
    }
    errors
}

/// How exact a device says its position is, in metres.
pub const ACCURACY_METERS: NumberRule = NumberRule {
    min: 0.0,
    max: 100_000.0,
};

/// The sender's own name for a submission.
pub const SUBMISSION_ID: TextRule = TextRule::plain(1, 255);

/// The device's description of itself, with at least a user agent and a platform.
pub fn device_info(given: Option<&str>, user_agent: &str) -> Result<String, String> {
    let mut info = match given {
        None => serde_json::Map::new(),
        Some(text) => serde_json::from_str(text).map_err(|_| "must be a JSON object".to_owned())?,
    };
    for (name, default) in [("user_agent", user_agent), ("platform", "unknown")] {
        let text = info.entry(name).or_insert_with(|| default.into());
        if !text.is_string() {
            return Err(format!("must have a string in {name}"));
        }
    }
    Ok(serde_json::Value::Object(info).to_string())
}

pub const REASON: TextRule = TextRule::plain(1, 2_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_hundred_metres_are_near_enough() {
        assert!(is_near(0.0) && is_near(499.9) && is_near(500.0));
        assert!(!is_near(500.1) && !is_near(f64::NAN));
    }
}
