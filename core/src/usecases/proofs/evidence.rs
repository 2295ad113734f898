//! The evidence for and against a proof.

use std::time::Duration;

use serde_json::Value;

use crate::domain::geo::{Point, to_decimeter};
use crate::domain::proofs::VALID_METERS;
use crate::domain::{Environment, Proof, ProofId, Task, TaskId, Timestamp};
use crate::media::hash_distance;
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;

/// Two photos count as the same if their hashes differ in at most this many bits.
const SAME_PHOTO_BITS: u32 = 3;
/// How many of the proofs that share a part of the hash are compared, newest first.
const COMPARED: i64 = 50;
/// A position with a larger error says little.
const POOR_ACCURACY_METERS: f64 = 100.0;
const LONG_DELAY: Duration = Duration::from_secs(60 * 60);
/// The largest possible difference between a local clock and UTC.
const ANY_TIME_ZONE: Duration = Duration::from_secs(14 * 60 * 60);

/// A fact about a proof, with an explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub code: &'static str,
    pub measure: Option<(f64, &'static str)>,
    pub reason: String,
    /// The other task and proof, if they belong to the same owner or if an admin asks.
    pub other: Option<(TaskId, ProofId)>,
}

#[derive(Clone, Debug)]
pub struct Evidence {
    pub proof: Proof,
    /// Of the task.
    pub place: Point,
    pub findings: Vec<Finding>,
}

impl Evidence {
    /// What the device says about how the file was made, with the distances from the task.
    pub fn device(&self) -> Option<Value> {
        let mut device: Value = serde_json::from_str(self.proof.capture.as_deref()?).ok()?;
        for fix in device["fixes"].as_array_mut().into_iter().flatten() {
            let place = Point::from_pair(fix["latitude"].as_f64(), fix["longitude"].as_f64())?;
            fix["distance_meters"] = to_decimeter(place.distance_meters(self.place)).into();
        }
        Some(device)
    }
}

/// A proof of this task. There is none without an id: what was given is no id at all.
pub fn proof_of(
    tx: &mut Tx<'_>,
    task: TaskId,
    proof: Option<ProofId>,
) -> Result<Proof, UseCaseError> {
    let found = proof.map(|proof| tx.proof(task, proof)).transpose()?;
    found.flatten().ok_or(UseCaseError::ProofNotFound)
}

pub fn evidence(tx: &mut Tx<'_>, task: &Task, proof: Proof) -> Result<Evidence, StoreError> {
    let mut findings = of_file(task, &proof);
    for other in same_photos(tx, task, &proof)? {
        findings.push(other.for_developer(task));
    }
    let place = task.place();
    Ok(Evidence {
        proof,
        place,
        findings,
    })
}

/// The same for admins, who also learn which task of another developer has the same photo.
pub fn evidence_for_admins(
    tx: &mut Tx<'_>,
    task: &Task,
    proof: Proof,
) -> Result<Evidence, StoreError> {
    let mut findings = of_file(task, &proof);
    for other in same_photos(tx, task, &proof)? {
        findings.push(other.for_admin(task));
    }
    let place = task.place();
    Ok(Evidence {
        proof,
        place,
        findings,
    })
}

fn of_file(task: &Task, proof: &Proof) -> Vec<Finding> {
    let mut findings = Vec::new();
    place(task, proof, &mut findings);
    time(task, proof, &mut findings);
    findings
}

fn found(
    code: &'static str,
    measure: Option<(f64, &'static str)>,
    reason: impl Into<String>,
) -> Finding {
    let measure = measure.map(|(value, unit)| (value.round(), unit));
    Finding {
        code,
        measure,
        reason: reason.into(),
        other: None,
    }
}

fn place(task: &Task, proof: &Proof, findings: &mut Vec<Finding>) {
    let mut far = |code, from: Point, to: Point, what: &str| {
        let meters = from.distance_meters(to);
        if meters > VALID_METERS {
            let reason = format!("the camera recorded a place {meters:.0} m from {what}");
            findings.push(found(code, Some((meters, "m")), reason));
        }
    };
    if let Some(exif) = proof.metadata.place {
        far("exif_gps_far", exif, task.place(), "the task");
        if let Some(sent) = proof.gps {
            far("exif_gps_differs", exif, sent, "the position that was sent");
        }
    } else if proof.capture.is_none() {
        let reason = "the file does not say where it was taken";
        findings.push(found("exif_gps_missing", None, reason));
    }
    if let (Some(meters), false) = (proof.distance_meters, proof.geo_valid) {
        let reason = format!("the position that was sent is {meters:.0} m from the task");
        findings.push(found("gps_far", Some((meters, "m")), reason));
    }
    if let Some(accuracy) = proof.accuracy_meters
        && accuracy > POOR_ACCURACY_METERS
    {
        let reason = format!("the device reports that its position may be off by {accuracy:.0} m");
        findings.push(found("gps_inaccurate", Some((accuracy, "m")), reason));
    }
}

fn time(task: &Task, proof: &Proof, findings: &mut Vec<Finding>) {
    let Some(taken) = proof.metadata.taken_at else {
        // Cameras in apps write nothing into the file. Where the device says how it was made, that is no
        // finding.
        if proof.capture.is_none() {
            let reason = "the file does not say when it was taken";
            findings.push(found("exif_time_missing", None, reason));
        }
        return;
    };
    // A clock without a UTC offset may be hours off. What such an offset can explain is not a
    // finding.
    let doubt = match proof.metadata.taken_at_is_local {
        true => ANY_TIME_ZONE.as_secs_f64(),
        false => 0.0,
    };
    let seconds =
        |from: Timestamp, to: Timestamp| (to.as_millis() - from.as_millis()) as f64 / 1_000.0;
    let delay = seconds(taken, proof.created_at);
    if delay < -doubt {
        let ahead = -delay;
        let reason = format!("by the camera's clock it was taken {ahead:.0} s after it was sent");
        findings.push(found("exif_time_ahead", Some((ahead, "s")), reason));
    } else if delay > LONG_DELAY.as_secs_f64() + doubt {
        let reason = format!("it was sent {delay:.0} s after it was taken");
        findings.push(found("upload_late", Some((delay, "s")), reason));
    } else if doubt == 0.0 {
        let reason = format!("it was sent {delay:.0} s after it was taken");
        findings.push(found("upload_delay", Some((delay, "s")), reason));
    }
    let early = task.assigned_at.map_or(0.0, |at| seconds(taken, at));
    if early > doubt {
        let reason = format!("it was taken {early:.0} s before the worker had the task");
        findings.push(found("exif_time_early", Some((early, "s")), reason));
    }
}

/// A proof with the same photo.
struct SamePhoto {
    other: Proof,
    /// Whether its task is the developer's own.
    owned: bool,
    bits: u32,
}

impl SamePhoto {
    fn for_developer(self, task: &Task) -> Finding {
        let reason = match (self.other.task == task.id, self.owned) {
            (true, _) => self.of_attempt(),
            (false, true) => "the same photo was sent for another task of yours".to_owned(),
            (false, false) => "the same photo was sent for another developer's task".to_owned(),
        };
        let shown = self.owned;
        self.found(reason, shown)
    }

    fn for_admin(self, task: &Task) -> Finding {
        let reason = match (self.other.task == task.id, self.owned) {
            (true, _) => self.of_attempt(),
            (false, true) => "the same photo was sent for another task of the developer".to_owned(),
            (false, false) => "the same photo was sent for another developer's task".to_owned(),
        };
        self.found(reason, true)
    }

    fn of_attempt(&self) -> String {
        let attempt = self.other.attempt_number;
        format!("the same photo was sent with attempt {attempt} of this task")
    }

    fn found(self, reason: String, shown: bool) -> Finding {
        let bits = f64::from(self.bits);
        Finding {
            other: shown.then_some((self.other.task, self.other.id)),
            ..found("same_photo", Some((bits, "bits")), reason)
        }
    }
}

/// Only what was sent before counts, in the same environment: otherwise anybody could send a copy afterwards, to
/// cast doubt on a proof.
fn same_photos(tx: &mut Tx<'_>, task: &Task, proof: &Proof) -> Result<Vec<SamePhoto>, StoreError> {
    let Some(hash) = proof.metadata.perceptual_hash else {
        return Ok(Vec::new());
    };
    let environment = task.owner.environment;
    let mut same = Vec::new();
    for other in tx.proofs_like(hash, environment, proof.id.next_moment(), COMPARED)? {
        let its = other.metadata.perceptual_hash;
        let Some(its) = its.filter(|_| other.id != proof.id) else {
            continue;
        };
        let bits = hash_distance(hash.cast_unsigned(), its.cast_unsigned());
        if bits > SAME_PHOTO_BITS {
            continue;
        }
        if let Some(of) = tx.any_task(other.task)?
            && of.owner.environment == environment
        {
            let owned = of.owner == task.owner;
            same.push(SamePhoto { other, owned, bits });
        }
    }
    Ok(same)
}

/// The tasks of other proofs that show the same photo as one that is about to be stored.
pub(in crate::usecases) fn tasks_with_same_photo(
    tx: &mut Tx<'_>,
    proof: &Proof,
    environment: Environment,
) -> Result<Vec<TaskId>, StoreError> {
    let Some(hash) = proof.metadata.perceptual_hash else {
        return Ok(Vec::new());
    };
    let mut tasks = Vec::new();
    for (id, task, its) in tx.hashes_like(hash, environment)? {
        let bits = hash_distance(hash.cast_unsigned(), its.cast_unsigned());
        if id != proof.id && bits <= SAME_PHOTO_BITS && !tasks.contains(&task) {
            tasks.push(task);
        }
    }
    Ok(tasks)
}
