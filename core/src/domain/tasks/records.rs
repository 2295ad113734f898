//! What moves mean for the records of workers and developers.

use std::time::Duration;

use crate::domain::{Moved, Status, Windows};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// How the work of a worker on a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is paid: approved by the developer, by the clock or by an admin.
    Completed,
    /// The last rejection stands: no attempt was left, the dispute was lost, or the worker neither tried
    /// again nor disputed it.
    Refused,
}

impl Moved {
    /// The final outcome for the worker who had the task. None while the work goes on, and when it ended
    /// before a proof was judged.
    pub fn outcome(&self) -> Option<Outcome> {
        match (self.from, self.task.status) {
            (_, Status::Completed) => Some(Outcome::Completed),
            (_, Status::Refunded) | (Status::ProofRejected, Status::Posted | Status::Expired) => {
                Some(Outcome::Refused)
            }
            _ => None,
        }
    }

    /// How long a proof had waited when it was reviewed.
    fn review_time(&self) -> Option<Duration> {
        let waited = self.task.status_since.as_millis() - self.since.as_millis();
        (self.from == Status::ProofSubmitted)
            .then(|| Duration::from_millis(waited.max(0).unsigned_abs()))
    }
}

/// How long reviews took is kept as counts: up to so many hours, and longer.
const REVIEW_HOURS: [u32; 7] = [1, 4, 12, 24, 48, 72, 120];

/// How a developer has dealt with the work of others. Also what one move adds to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeveloperRecord {
    /// Tasks that were completed. Kept with the number of tasks in each status.
    pub completed: i64,
    /// Final outcomes of judged work: all of them, and those without a dispute in which the work was
    /// approved.
    pub judged: i64,
    pub approved: i64,
    /// How many reviews took that long.
    pub reviews: [i64; REVIEW_HOURS.len() + 1],
}

impl DeveloperRecord {
    /// A record of fewer outcomes tells nothing, and too much about each.
    pub const ENOUGH: i64 = 5;

    /// What a move adds. None for nothing.
    pub fn added_by(moved: &Moved) -> Option<Self> {
        let mut added = Self::default();
        if let Some(outcome) = moved.outcome() {
            let approved = outcome == Outcome::Completed && moved.from == Status::ProofSubmitted;
            added.judged = 1;
            added.approved = i64::from(approved);
        }
        if let Some(took) = moved.review_time() {
            let shorter = REVIEW_HOURS.iter().filter(|hours| HOUR * **hours < took);
            added.reviews[shorter.count()] = 1;
        }
        (added != Self::default()).then_some(added)
    }

    pub fn add(&mut self, more: &Self) {
        self.completed += more.completed;
        self.judged += more.judged;
        self.approved += more.approved;
        for (count, more) in self.reviews.iter_mut().zip(more.reviews) {
            *count += more;
        }
    }

    pub fn is_enough(&self) -> bool {
        self.judged >= Self::ENOUGH
    }

    /// The share of the judged work that was approved, 0 to 1.
    pub fn approval_share(&self) -> Option<f64> {
        (self.judged > 0).then(|| self.approved as f64 / self.judged as f64)
    }

    /// Half of the reviews took at most so many hours. No review takes longer than its window.
    pub fn median_review_hours(&self, windows: &Windows) -> Option<u64> {
        let all: i64 = self.reviews.iter().sum();
        let longest = windows.review.as_secs().div_ceil(HOUR.as_secs());
        let hours = REVIEW_HOURS.into_iter().map(u64::from).chain([longest]);
        let mut seen = 0;
        for (count, hours) in self.reviews.iter().zip(hours) {
            seen += count;
            if seen > 0 && seen * 2 >= all {
                return Some(hours.min(longest));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tasks::moves::tests::{START, task_in, worker};
    use crate::domain::{Action, Task};

    fn moved(status: Status, attempts: i64, action: Action, after: Duration) -> Moved {
        let task = Task {
            worker: Some(worker()),
            ..task_in(status, attempts)
        };
        task.act(action, START.plus(after)).unwrap()
    }

    #[test]
    fn only_the_end_of_judged_work_is_an_outcome() {
        use Status::{Assigned, Disputed, InProgress, Posted, ProofRejected, ProofSubmitted};
        let split = Action::DecideSplit { paid_cents: 1 };
        let cases = [
            (ProofSubmitted, 1, Action::Approve, Some(Outcome::Completed)),
            (ProofSubmitted, 1, Action::Reject, None),
            (ProofSubmitted, 3, Action::Reject, Some(Outcome::Refused)),
            (ProofRejected, 1, Action::Dispute, None),
            (ProofRejected, 1, Action::Release, Some(Outcome::Refused)),
            (ProofRejected, 1, Action::Overdue, Some(Outcome::Refused)),
            (ProofRejected, 1, Action::SubmitProof, None),
            (Disputed, 1, Action::DecidePay, Some(Outcome::Completed)),
            (Disputed, 1, split, Some(Outcome::Completed)),
            (Disputed, 1, Action::DecideRefund, Some(Outcome::Refused)),
            (Posted, 1, Action::Overdue, None),
            (Assigned, 0, Action::Cancel, None),
            (InProgress, 0, Action::Release, None),
            (InProgress, 0, Action::Overdue, None),
        ];
        for (status, attempts, action, expected) in cases {
            let moved = moved(status, attempts, action, HOUR);
            assert_eq!(moved.outcome(), expected, "{status} {action:?}");
            assert_eq!(moved.worker, Some(worker()), "{status} {action:?}");
        }
    }

    #[test]
    fn a_dispute_that_the_worker_won_is_not_approved_work() {
        let record = |status, action| {
            let record = DeveloperRecord::added_by(&moved(status, 1, action, HOUR));
            record.map(|record| (record.judged, record.approved, record.reviews[0]))
        };
        let submitted = Status::ProofSubmitted;
        assert_eq!(record(submitted, Action::Approve), Some((1, 1, 1)));
        assert_eq!(record(submitted, Action::Reject), Some((0, 0, 1)));
        assert_eq!(record(Status::Disputed, Action::DecidePay), Some((1, 0, 0)));
        assert_eq!(record(Status::Assigned, Action::Start), None);
    }

    #[test]
    fn half_of_the_reviews_took_at_most_the_median() {
        let windows = Windows::default();
        let after = |hours: &[u64]| {
            let mut reviews = [0; REVIEW_HOURS.len() + 1];
            for hours in hours {
                let took = Duration::from_secs(hours * 60 * 60);
                let moved = moved(Status::ProofSubmitted, 1, Action::Approve, took);
                let added = DeveloperRecord::added_by(&moved).unwrap();
                for (sum, one) in reviews.iter_mut().zip(added.reviews) {
                    *sum += one;
                }
            }
            let record = DeveloperRecord {
                reviews,
                ..DeveloperRecord::default()
            };
            record.median_review_hours(&windows)
        };
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[0]), Some(1));
        assert_eq!(after(&[1]), Some(1));
        assert_eq!(after(&[2]), Some(4));
        assert_eq!(after(&[1, 1, 100]), Some(1));
        assert_eq!(after(&[1, 30, 100]), Some(48));
        assert_eq!(after(&[1, 100]), Some(1));
        assert_eq!(after(&[121, 150]), Some(168));
    }
}
