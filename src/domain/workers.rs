//! Workers: who they are, and which tasks they may accept.

use crate::domain::geo::Point;
use crate::domain::rules::{NumberRule, TextRule};
use crate::domain::string_enum::string_enum;
use crate::domain::tasks::{Skill, Task};
use crate::domain::{PayoutStatus, Status, Tier, Timestamp, WorkerId};

/// How many open tasks a worker may have at once.
pub const MAX_OPEN_TASKS: i64 = 5;
/// Requests of one worker per minute, as on the free tier. All of them may come in one burst.
pub const WORKER_REQUESTS_PER_MINUTE: u32 = Tier::Free.requests_per_minute();
pub const DEFAULT_RADIUS_KM: f64 = 25.0;
pub const MAX_RADIUS_KM: f64 = 200.0;

string_enum!(WorkerStatus {
    Unverified = "unverified",
    /// Documents were uploaded and wait for an admin.
    InReview = "in_review",
    Verified = "verified",
    Suspended = "suspended",
    /// What was personal is erased. The row stays, because tasks and the ledger name it.
    Deleted = "deleted",
});

#[derive(Clone, Debug)]
pub struct Worker {
    pub id: WorkerId,
    pub email: String,
    /// Whether somebody who reads the mail of this address has said so. Otherwise other workers may name
    /// the same address.
    pub email_confirmed: bool,
    pub name: String,
    pub phone: Option<String>,
    pub skills: Vec<Skill>,
    pub home: Option<Point>,
    pub radius_km: f64,
    pub status: WorkerStatus,
    pub verified_at: Option<Timestamp>,
    pub completed_tasks: i64,
    /// The number of attempts that were approved, and of all that were reviewed.
    pub approved_attempts: i64,
    pub reviewed_attempts: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Stands in the place of an e-mail address that is not confirmed.
pub fn unconfirmed_email(id: WorkerId) -> String {
    format!("unconfirmed-{id}@invalid")
}

/// What signing up needs, except the password.
#[derive(Clone, Debug)]
pub struct NewWorker {
    pub email: String,
    pub name: String,
    pub phone: Option<String>,
    pub skills: Vec<Skill>,
    pub home: Option<Point>,
    pub radius_km: f64,
}

/// The fields named in a PATCH. `Some(None)` clears a nullable field.
#[derive(Clone, Debug, Default)]
pub struct WorkerEdit {
    pub name: Option<String>,
    pub phone: Option<Option<String>>,
    pub skills: Option<Vec<Skill>>,
    pub home_latitude: Option<f64>,
    pub home_longitude: Option<f64>,
    pub radius_km: Option<f64>,
}

/// Why a worker may not accept a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotEligible {
    #[error("the worker is not verified")]
    NotVerified,
    #[error("the worker does not have all skills that the task requires")]
    LacksSkill,
    #[error("the worker's payout account is not ready")]
    NoPayoutAccount,
    #[error("the worker already has {MAX_OPEN_TASKS} open tasks")]
    TooManyTasks,
}

impl Worker {
    pub fn sign_up(new: &NewWorker, id: WorkerId, now: Timestamp) -> Self {
        let new = new.clone();
        Self {
            id,
            email: new.email,
            email_confirmed: true,
            name: new.name,
            phone: new.phone,
            skills: new.skills,
            home: new.home,
            radius_km: new.radius_km,
            status: WorkerStatus::Unverified,
            verified_at: None,
            completed_tasks: 0,
            approved_attempts: 0,
            reviewed_attempts: 0,
            created_at: now,
            updated_at: now,
        }
    }

    pub fn edit(&self, edit: &WorkerEdit, now: Timestamp) -> Self {
        let mut worker = self.clone();
        let edit = edit.clone();
        worker.name = edit.name.unwrap_or(worker.name);
        worker.phone = edit.phone.unwrap_or(worker.phone);
        worker.skills = edit.skills.unwrap_or(worker.skills);
        worker.radius_km = edit.radius_km.unwrap_or(worker.radius_km);
        let latitude = edit.home_latitude.or(self.home.map(|home| home.latitude));
        let longitude = edit.home_longitude.or(self.home.map(|home| home.longitude));
        worker.home = Point::from_pair(latitude, longitude);
        worker.updated_at = now;
        worker
    }

    pub fn has_skills(&self, required: &[Skill]) -> bool {
        required.iter().all(|skill| self.skills.contains(skill))
    }

    /// Whether the worker may accept this task now.
    pub fn may_accept(
        &self,
        task: &Task,
        payout: PayoutStatus,
        open_tasks: i64,
    ) -> Result<(), NotEligible> {
        if self.status != WorkerStatus::Verified {
            return Err(NotEligible::NotVerified);
        }
        if !self.has_skills(&task.required_skills) {
            return Err(NotEligible::LacksSkill);
        }
        if payout != PayoutStatus::Ready {
            return Err(NotEligible::NoPayoutAccount);
        }
        if open_tasks >= MAX_OPEN_TASKS {
            return Err(NotEligible::TooManyTasks);
        }
        Ok(())
    }

    /// The share of reviewed attempts that were approved. `None` before the first review.
    pub fn approval_rate(&self) -> Option<f64> {
        (self.reviewed_attempts > 0)
            .then(|| self.approved_attempts as f64 / self.reviewed_attempts as f64)
    }
}

/// The statuses in which a task counts as open for its worker.
pub const OPEN: [Status; 5] = [
    Status::Assigned,
    Status::InProgress,
    Status::ProofSubmitted,
    Status::ProofRejected,
    Status::Disputed,
];

pub const PHONE: TextRule = TextRule {
    min: 3,
    max: 32,
    pattern: Some(r"^[0-9+ \-().]*[0-9][0-9+ \-().]*$"),
    format: None,
    check: |rule, text| {
        let text = rule.text(text)?;
        let fit = |c: char| c.is_ascii_digit() || "+ -().".contains(c);
        if text.chars().all(fit) && text.chars().any(|c| c.is_ascii_digit()) {
            Ok(text)
        } else {
            Err("must be a phone number".to_owned())
        }
    },
};

pub const RADIUS_KM: NumberRule = NumberRule {
    min: 0.1,
    max: MAX_RADIUS_KM,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_number_is_digits_and_what_parts_them() {
        for good in ["+1 (718) 555-0100", "0301234567", "1.2.3"] {
            assert!(PHONE.check(good).is_ok(), "{good}");
        }
        for bad in ["", "++", "call me", "+1;2345", "1\n23"] {
            assert!(PHONE.check(bad).is_err(), "{bad}");
        }
    }
}
