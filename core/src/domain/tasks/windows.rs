//! Time limits: how long each step may take, and what happens when the time has passed.

use std::time::Duration;

use crate::domain::string_enum::string_enum;
use crate::domain::{Action, Status, Task, Timestamp};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// How long each step may take. Set by the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// To pay for a task.
    pub unpaid: Duration,
    /// To start an accepted task.
    pub start: Duration,
    /// To submit proof, or new proof after a rejection.
    pub work: Duration,
    /// To review a proof.
    pub review: Duration,
    /// To contest a rejection.
    pub dispute: Duration,
    /// To decide a dispute.
    pub decide: Duration,
    /// From funding until a task without a deadline is overdue.
    pub open: Duration,
    /// How much longer a worker has who was sending a file when the time was over.
    pub upload_grace: Duration,
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            unpaid: HOUR * 24,
            start: HOUR * 24,
            work: HOUR * 72,
            review: HOUR * 24 * 7,
            dispute: HOUR * 72,
            decide: HOUR * 24 * 30,
            open: HOUR * 24 * 30,
            upload_grace: HOUR * 6,
        }
    }
}

impl Windows {
    /// How long a task may stay in a status, and what happens then.
    pub const fn in_status(&self, status: Status) -> Option<(Duration, Action)> {
        match status {
            Status::Pending => Some((self.unpaid, Action::LeaveUnpaid)),
            Status::Assigned => Some((self.start, Action::Release)),
            Status::InProgress | Status::ProofRejected => Some((self.work, Action::Release)),
            Status::ProofSubmitted => Some((self.review, Action::Approve)),
            Status::Disputed => Some((self.decide, Action::DecideRefund)),
            _ => None,
        }
    }
}

/// The statuses in which a task can miss its deadline.
const CAN_BE_OVERDUE: [Status; 6] = [
    Status::Pending,
    Status::Funded,
    Status::Posted,
    Status::Assigned,
    Status::InProgress,
    Status::ProofRejected,
];

string_enum!(
    /// What becomes of a task when its time has passed.
    DueAction {
        /// It goes back to `posted`, for other workers.
        Released = "released",
        Expired = "expired",
        /// The proof counts as approved.
        Completed = "completed",
        Refunded = "refunded",
    }
);

/// What the passing of time does to a task next, in the words of its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub at: Timestamp,
    pub action: DueAction,
}

/// What decides when time does something to a task.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub status: Status,
    pub since: Timestamp,
    pub deadline: Option<Timestamp>,
    pub funded_at: Option<Timestamp>,
}

impl Waiting {
    /// What time does next, and when. If both happen at the same moment, the deadline wins: a task that
    /// is over need not be released.
    pub fn next_by_clock(&self, windows: &Windows) -> Option<(Timestamp, Action)> {
        let overdue = CAN_BE_OVERDUE
            .contains(&self.status)
            .then(|| {
                self.deadline
                    .or(self.funded_at.map(|at| at.plus(windows.open)))
            })
            .flatten()
            .map(|at| (at, Action::Overdue));
        let waited = windows
            .in_status(self.status)
            .map(|(window, action)| (self.since.plus(window), action));
        overdue.into_iter().chain(waited).min_by_key(|(at, _)| *at)
    }
}

impl Task {
    /// What its worker has to expect, and when. None for a task that is over.
    pub fn due(&self, windows: &Windows) -> Option<Due> {
        let (at, action) = self.next_by_clock(windows)?;
        let action = match action {
            Action::Release => DueAction::Released,
            Action::LeaveUnpaid | Action::Overdue => DueAction::Expired,
            Action::Approve => DueAction::Completed,
            Action::DecideRefund => DueAction::Refunded,
            _ => return None,
        };
        Some(Due { at, action })
    }

    /// What time does to this task next, and when.
    pub fn next_by_clock(&self, windows: &Windows) -> Option<(Timestamp, Action)> {
        let waiting = Waiting {
            status: self.status,
            since: self.status_since,
            deadline: self.deadline,
            funded_at: self.funded_at,
        };
        waiting.next_by_clock(windows)
    }

    /// Whether the deadline of a live task has passed. Nobody is charged for it any more.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.is_live() && self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Whether a rejection can still be contested.
    pub fn can_be_contested(&self, windows: &Windows, now: Timestamp) -> bool {
        now <= self.status_since.plus(windows.dispute)
    }
}

/// Why a task with a deadline expires.
pub const DEADLINE_PASSED: &str = "the deadline passed";

/// Why a task without a deadline expires.
fn open_too_long(open: Duration) -> String {
    let days = open.as_secs() / (HOUR.as_secs() * 24);
    let s = if days == 1 { "" } else { "s" };
    format!("open for {days} day{s} without being completed")
}

impl Action {
    /// The reason recorded in the history.
    pub fn why_by_clock(self, task: &Task, windows: &Windows) -> String {
        let reason = match self {
            Self::LeaveUnpaid => "nobody paid in time",
            Self::Overdue if task.deadline.is_none() => return open_too_long(windows.open),
            Self::Overdue => DEADLINE_PASSED,
            Self::Release => "nothing happened in time",
            Self::Approve => "nobody reviewed it in time",
            Self::DecideRefund => "nobody decided in time",
            _ => "a deadline passed",
        };
        reason.to_owned()
    }
}

#[cfg(test)]
mod tests;
