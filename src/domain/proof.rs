//! Proof that the work was done: one submission is one attempt, with one file for each type.

use super::geo::{Point, to_decimeter};
use super::task::{ProofType, Task};
use super::words::words;
use super::{Environment, ProofId, TaskId, Timestamp, WorkerId, rules};

/// How far from the task a proof may have been taken.
pub const VALID_METERS: f64 = 500.0;

words!(ProofStatus {
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

    /// Whether a proof of this type must say where it was taken.
    pub const fn needs_gps(self) -> bool {
        !matches!(self, Self::Signature)
    }
}

/// A file as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofFile {
    /// Where the developer's copy is, without what the camera wrote into it.
    pub key: String,
    /// Where the file is as it was sent, for disputes.
    pub original_key: String,
    pub content_type: String,
    pub size_bytes: i64,
    pub sha256: String,
}

/// What the file itself says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Embedded {
    pub taken_at: Option<Timestamp>,
    /// The camera did not say how far its clock is from UTC: the moment may be off by hours.
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
    pub embedded: Embedded,
    pub gps: Option<Point>,
    pub accuracy_meters: Option<f64>,
    pub distance_meters: Option<f64>,
    pub geo_valid: bool,
    /// JSON, as it was sent.
    pub device_info: String,
    pub status: ProofStatus,
    pub rejection_reason: Option<String>,
    pub reviewed_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// What a worker sends, once its files are kept.
#[derive(Clone, Debug)]
pub struct Submission {
    pub gps: Option<Point>,
    pub accuracy_meters: Option<f64>,
    pub device_info: String,
    /// The sender's own name for it, so that sending it again does nothing.
    pub submission_id: Option<String>,
    pub files: Vec<SubmittedFile>,
}

#[derive(Clone, Debug)]
pub struct SubmittedFile {
    pub id: ProofId,
    pub proof_type: ProofType,
    pub file: ProofFile,
    pub embedded: Embedded,
}

impl Submission {
    /// The proofs of an attempt at a task, which has counted the attempt already.
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
                embedded: sent.embedded,
                gps: self.gps,
                accuracy_meters: self.accuracy_meters,
                distance_meters: distance,
                geo_valid: distance.is_some_and(is_near),
                device_info: self.device_info.clone(),
                status: ProofStatus::Pending,
                rejection_reason: None,
                reviewed_at: None,
                created_at: now,
            }
        };
        self.files.iter().map(proof).collect()
    }
}

/// Whether a distance, as it is told, is near enough.
fn is_near(meters: f64) -> bool {
    meters <= VALID_METERS
}

impl Proof {
    /// Whether somebody should look at where it was taken. A signature without a position is fine.
    pub fn is_suspect(&self) -> bool {
        !self.geo_valid && (self.proof_type.needs_gps() || self.gps.is_some())
    }
}

impl Task {
    pub fn is_live(&self) -> bool {
        self.owner.environment == Environment::Live
    }

    pub fn place(&self) -> Point {
        Point {
            latitude: self.location.latitude,
            longitude: self.location.longitude,
        }
    }
}

pub fn reason(text: &str) -> Result<String, String> {
    rules::text(text, 1, 2_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_hundred_metres_are_near_enough() {
        assert!(is_near(0.0) && is_near(499.9) && is_near(500.0));
        assert!(!is_near(500.1) && !is_near(f64::NAN));
    }
}
