//! Workers: who they are, and which tasks they may accept.

use crate::domain::geo::Point;
use crate::domain::rules::{NumberRule, TextRule};
use crate::domain::string_enum::string_enum;
use crate::domain::tasks::{Skill, Task};
use crate::domain::{PayoutStatus, Status, Tier, Timestamp, WorkerId};

/// How many tasks that wait for them a worker may have and accept no more.
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

/// Skills that count only when an admin has confirmed them. Set by the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedSkills(Vec<Skill>);

impl Default for CheckedSkills {
    fn default() -> Self {
        Self(vec![Skill::Notary])
    }
}

impl CheckedSkills {
    /// Reads a list with commas. An empty one is fine: then every skill counts.
    pub fn rule(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim);
        let parts = parts.filter(|part| !part.is_empty());
        let skill = |part: &str| {
            Skill::parse(part).ok_or_else(|| format!("{part:?} is not a skill such as notary"))
        };
        parts.map(skill).collect::<Result<_, _>>().map(Self)
    }
}

impl std::fmt::Display for CheckedSkills {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<_> = self.0.iter().map(|skill| skill.as_str()).collect();
        f.write_str(&words.join(","))
    }
}

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
    /// Those that an admin has confirmed, also some that the worker no longer names.
    pub confirmed_skills: Vec<Skill>,
    /// The name that a verified worker wants instead, until an admin has decided.
    pub pending_name: Option<String>,
    pub home: Option<Point>,
    pub radius_km: f64,
    pub status: WorkerStatus,
    pub verified_at: Option<Timestamp>,
    /// Tasks that ended with this worker's work paid, and with it refused for good.
    pub completed_tasks: i64,
    pub refused_tasks: i64,
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
    pub home: Option<Point>,
    pub radius_km: Option<f64>,
}

string_enum!(
    /// Why a worker may not accept a task, in a word.
    Ineligible {
        NotVerified = "not_verified",
        LacksSkill = "lacks_skill",
        UnconfirmedSkill = "unconfirmed_skill",
        NoPayoutAccount = "no_payout_account",
        TooManyTasks = "too_many_tasks",
    }
);

/// Why a worker may not accept a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotEligible {
    #[error("the worker is not verified")]
    NotVerified,
    #[error("the worker does not have all skills that the task requires")]
    LacksSkill,
    #[error("a skill that the task requires is not confirmed by an admin yet")]
    UnconfirmedSkill,
    #[error("the worker's payout account is not ready")]
    NoPayoutAccount,
    #[error("the worker already has {MAX_OPEN_TASKS} open tasks, not counting those under review")]
    TooManyTasks,
}

impl NotEligible {
    pub const fn word(self) -> Ineligible {
        match self {
            Self::NotVerified => Ineligible::NotVerified,
            Self::LacksSkill => Ineligible::LacksSkill,
            Self::UnconfirmedSkill => Ineligible::UnconfirmedSkill,
            Self::NoPayoutAccount => Ineligible::NoPayoutAccount,
            Self::TooManyTasks => Ineligible::TooManyTasks,
        }
    }
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
            confirmed_skills: Vec::new(),
            pending_name: None,
            home: new.home,
            radius_km: new.radius_km,
            status: WorkerStatus::Unverified,
            verified_at: None,
            completed_tasks: 0,
            refused_tasks: 0,
            created_at: now,
            updated_at: now,
        }
    }

    /// A name that was verified stays until an admin has decided about the new one.
    pub fn edit(&self, edit: &WorkerEdit, now: Timestamp) -> Self {
        let mut worker = self.clone();
        let edit = edit.clone();
        match edit.name {
            Some(name) if self.has_locked_name() => {
                worker.pending_name = Some(name).filter(|name| *name != self.name);
            }
            Some(name) => worker.name = name,
            None => {}
        }
        worker.phone = edit.phone.unwrap_or(worker.phone);
        worker.skills = edit.skills.unwrap_or(worker.skills);
        worker.radius_km = edit.radius_km.unwrap_or(worker.radius_km);
        worker.home = edit.home.or(worker.home);
        worker.updated_at = now;
        worker
    }

    pub fn is_deleted(&self) -> bool {
        self.status == WorkerStatus::Deleted
    }

    /// Whether an admin has verified the worker under the present name.
    pub fn has_locked_name(&self) -> bool {
        self.verified_at.is_some()
    }

    fn has_skill(&self, skill: Skill, checked: &CheckedSkills) -> bool {
        let confirmed = !checked.0.contains(&skill) || self.confirmed_skills.contains(&skill);
        confirmed && self.skills.contains(&skill)
    }

    /// The skills that count.
    pub fn counting_skills(&self, checked: &CheckedSkills) -> Vec<Skill> {
        let skills = self.skills.iter().copied();
        skills
            .filter(|skill| self.has_skill(*skill, checked))
            .collect()
    }

    /// The skills that an admin has to look at.
    pub fn unconfirmed_skills(&self, checked: &CheckedSkills) -> Vec<Skill> {
        let skills = self.skills.iter().copied();
        skills
            .filter(|skill| !self.has_skill(*skill, checked))
            .collect()
    }

    pub fn has_skills(&self, required: &[Skill], checked: &CheckedSkills) -> bool {
        let mut required = required.iter();
        required.all(|skill| self.has_skill(*skill, checked))
    }

    /// Whether the worker may accept this task now.
    pub fn may_accept(
        &self,
        task: &Task,
        payout: PayoutStatus,
        in_hand: i64,
        checked: &CheckedSkills,
    ) -> Result<(), NotEligible> {
        if self.status != WorkerStatus::Verified {
            return Err(NotEligible::NotVerified);
        }
        let required = &task.required_skills;
        if !required.iter().all(|skill| self.skills.contains(skill)) {
            return Err(NotEligible::LacksSkill);
        }
        if !self.has_skills(required, checked) {
            return Err(NotEligible::UnconfirmedSkill);
        }
        if payout != PayoutStatus::Ready {
            return Err(NotEligible::NoPayoutAccount);
        }
        if in_hand >= MAX_OPEN_TASKS {
            return Err(NotEligible::TooManyTasks);
        }
        Ok(())
    }

    /// The share of final outcomes in which the work was paid. `None` before the first.
    pub fn approval_rate(&self) -> Option<f64> {
        let decided = self.completed_tasks + self.refused_tasks;
        (decided > 0).then(|| self.completed_tasks as f64 / decided as f64)
    }
}

/// Whether the worker of a task has to do something. These count towards `MAX_OPEN_TASKS`; what waits
/// for the developer or for an admin does not.
pub const fn is_in_hand(status: Status) -> bool {
    matches!(
        status,
        Status::Assigned | Status::InProgress | Status::ProofRejected
    )
}

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
