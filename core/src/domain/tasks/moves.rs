//! Every move that a task can make. A move that is not in the table is not allowed.

use Status::{
    Assigned, Cancelled, Completed, Disputed, Expired, Funded, InProgress, Pending, Posted,
    ProofRejected, ProofSubmitted, Refunded,
};

use crate::domain::tasks::MAX_PROOF_ATTEMPTS;
use crate::domain::tasks::NotAllowed;
use crate::domain::tasks::pricing::{Money, Settlement};
use crate::domain::{Entry, EventType, Status, Task, Timestamp, WorkerId};

/// What moves a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// The payment succeeded. Test tasks need no payment.
    Pay,
    /// Not paid within the payment window.
    LeaveUnpaid,
    /// Becomes visible to workers.
    Publish,
    /// A worker accepts the task.
    Accept,
    /// The worker starts work.
    Start,
    /// The worker gives the task back, or the time to start or to submit proof has passed.
    Release,
    /// The worker submits proof: one more attempt.
    SubmitProof,
    /// The developer approves, or the review time has passed.
    Approve,
    /// The developer rejects, and attempts remain.
    Reject,
    /// The developer rejects the last attempt.
    RejectLast,
    /// The worker contests a rejection.
    Dispute,
    /// An admin decides for the worker.
    DecidePay,
    /// An admin decides for the developer, or no one decided in time.
    DecideRefund,
    /// An admin splits the budget.
    DecideSplit,
    /// The deadline passed.
    Overdue,
    /// The developer cancels the task.
    Cancel,
}

pub struct Move {
    pub from: &'static [Status],
    pub trigger: Trigger,
    pub to: Status,
    pub money: Money,
    pub events: &'static [EventType],
}

const fn row(
    from: &'static [Status],
    trigger: Trigger,
    to: Status,
    money: Money,
    events: &'static [EventType],
) -> Move {
    Move {
        from,
        trigger,
        to,
        money,
        events,
    }
}

/// The action carries the amount of a split. The table only says that it is one.
const SPLIT: Money = Money::Split { paid_cents: 0 };

#[rustfmt::skip]
pub const MOVES: &[Move] = &[
    row(&[Pending],                          Trigger::Pay,          Funded,         Money::Escrow,     &[EventType::TaskFunded]),
    row(&[Pending],                          Trigger::LeaveUnpaid,  Expired,        Money::Nothing,    &[EventType::TaskExpired]),
    row(&[Pending],                          Trigger::Overdue,      Expired,        Money::Nothing,    &[EventType::TaskExpired]),
    row(&[Funded],                           Trigger::Publish,      Posted,         Money::Nothing,    &[EventType::TaskPosted]),
    row(&[Posted],                           Trigger::Accept,       Assigned,       Money::Nothing,    &[EventType::TaskAssigned]),
    row(&[Assigned],                         Trigger::Start,        InProgress,     Money::Nothing,    &[EventType::TaskStarted]),
    row(&[Assigned, InProgress,
          ProofRejected],                    Trigger::Release,      Posted,         Money::Nothing,    &[EventType::TaskPosted]),
    row(&[InProgress, ProofRejected],        Trigger::SubmitProof,  ProofSubmitted, Money::Nothing,    &[EventType::TaskProofSubmitted]),
    row(&[ProofSubmitted],                   Trigger::Approve,      Completed,      Money::PayOut,     &[EventType::TaskCompleted]),
    row(&[ProofSubmitted],                   Trigger::Reject,       ProofRejected,  Money::Nothing,    &[EventType::TaskProofRejected]),
    row(&[ProofSubmitted],                   Trigger::RejectLast,   Refunded,       Money::Refund,     &[EventType::TaskProofRejected, EventType::TaskRefunded]),
    row(&[ProofRejected],                    Trigger::Dispute,      Disputed,       Money::Nothing,    &[EventType::TaskDisputed]),
    row(&[Disputed],                         Trigger::DecidePay,    Completed,      Money::PayOut,     &[EventType::TaskCompleted]),
    row(&[Disputed],                         Trigger::DecideRefund, Refunded,       Money::Refund,     &[EventType::TaskRefunded]),
    row(&[Disputed],                         Trigger::DecideSplit,  Completed,      SPLIT,             &[EventType::TaskCompleted]),
    row(&[Funded, Posted, Assigned,
          InProgress, ProofRejected],        Trigger::Overdue,      Expired,        Money::Refund,     &[EventType::TaskExpired]),
    row(&[Pending],                          Trigger::Cancel,       Cancelled,      Money::Nothing,    &[EventType::TaskCancelled]),
    row(&[Funded, Posted],                   Trigger::Cancel,       Cancelled,      Money::Refund,     &[EventType::TaskCancelled]),
    row(&[Assigned],                         Trigger::Cancel,       Cancelled,      Money::RefundHalf, &[EventType::TaskCancelled]),
];

impl Status {
    /// Whether a task in this status can still come to that one, by however many moves.
    pub fn can_become(self, wanted: Self) -> bool {
        let mut reached = vec![self];
        let mut at = 0;
        while let Some(&from) = reached.get(at) {
            at += 1;
            for row in MOVES.iter().filter(|row| row.from.contains(&from)) {
                if row.to == wanted {
                    return true;
                }
                if !reached.contains(&row.to) {
                    reached.push(row.to);
                }
            }
        }
        false
    }
}

/// A requested action, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Pay,
    LeaveUnpaid,
    Publish,
    Accept { worker: WorkerId },
    Start,
    Release,
    SubmitProof,
    Approve,
    Reject,
    Dispute,
    DecidePay,
    DecideRefund,
    DecideSplit { paid_cents: i64 },
    Overdue,
    Cancel,
}

impl Action {
    fn trigger(self, task: &Task) -> Trigger {
        match self {
            Self::Pay => Trigger::Pay,
            Self::LeaveUnpaid => Trigger::LeaveUnpaid,
            Self::Publish => Trigger::Publish,
            Self::Accept { .. } => Trigger::Accept,
            Self::Start => Trigger::Start,
            Self::Release => Trigger::Release,
            Self::SubmitProof => Trigger::SubmitProof,
            Self::Approve => Trigger::Approve,
            Self::Reject if task.proof_attempts < MAX_PROOF_ATTEMPTS => Trigger::Reject,
            Self::Reject => Trigger::RejectLast,
            Self::Dispute => Trigger::Dispute,
            Self::DecidePay => Trigger::DecidePay,
            Self::DecideRefund => Trigger::DecideRefund,
            Self::DecideSplit { .. } => Trigger::DecideSplit,
            Self::Overdue => Trigger::Overdue,
            Self::Cancel => Trigger::Cancel,
        }
    }

    /// Every action, for the simulation in the test environment.
    pub fn simulated(worker: WorkerId) -> [Self; 14] {
        [
            Self::Pay,
            Self::Publish,
            Self::Accept { worker },
            Self::Start,
            Self::SubmitProof,
            Self::Approve,
            Self::Reject,
            Self::Dispute,
            Self::DecidePay,
            Self::DecideRefund,
            Self::Overdue,
            Self::Cancel,
            Self::Release,
            Self::LeaveUnpaid,
        ]
    }

    /// Completes "the task cannot ...".
    const fn what(self) -> &'static str {
        match self {
            Self::Pay => "be paid for",
            Self::LeaveUnpaid | Self::Overdue => "expire",
            Self::Publish => "be posted",
            Self::Accept { .. } => "be accepted",
            Self::Start => "be started",
            Self::Release => "be released",
            Self::SubmitProof => "accept a proof",
            Self::Approve => "be approved",
            Self::Reject => "be rejected",
            Self::Dispute => "be disputed",
            Self::DecidePay | Self::DecideRefund | Self::DecideSplit { .. } => "be decided",
            Self::Cancel => "be cancelled",
        }
    }
}

/// The result of a move: the task afterwards, and everything that must be written with it.
#[derive(Clone, Debug)]
pub struct Moved {
    pub task: Task,
    pub from: Status,
    /// When the task had come into the status that it left.
    pub since: Timestamp,
    /// Who had the task before the move.
    pub worker: Option<WorkerId>,
    pub settlement: Settlement,
    /// The ledger entry of the move, if money moves.
    pub entry: Option<Entry>,
    pub events: &'static [EventType],
}

impl Moved {
    /// What of the budget of a task that is over now was never charged, or goes back.
    pub fn unspent_cents(&self) -> i64 {
        match self.from {
            Pending => self.task.budget_cents,
            _ => self.settlement.refund_cents,
        }
    }
}

impl Task {
    pub fn act(&self, action: Action, now: Timestamp) -> Result<Moved, NotAllowed> {
        let trigger = action.trigger(self);
        let row = MOVES
            .iter()
            .find(|row| row.trigger == trigger && row.from.contains(&self.status))
            .ok_or(NotAllowed {
                status: self.status,
                what: action.what(),
            })?;
        let money = match action {
            Action::DecideSplit { paid_cents } => Money::Split { paid_cents },
            _ => row.money,
        };
        let settlement = money.settle(self.budget_cents, self.fee_percent);
        if settlement.refund_cents < 0 || settlement.payout_cents < 0 {
            // The split is larger than the budget.
            return Err(NotAllowed {
                status: self.status,
                what: "be split like that",
            });
        }
        let mut task = self.arrive(row.to, action, now);
        let entry = Entry::of_move(&task, settlement, now);
        task.escrow_cents += settlement.postings().escrow_cents;
        Ok(Moved {
            task,
            from: self.status,
            since: self.status_since,
            worker: self.worker,
            settlement,
            entry,
            events: row.events,
        })
    }

    /// The task in its new status, with the timestamps of the move.
    fn arrive(&self, to: Status, action: Action, now: Timestamp) -> Self {
        let mut task = self.clone();
        task.status = to;
        task.status_since = now;
        task.updated_at = now;
        match action {
            Action::Pay => task.funded_at = Some(now),
            Action::Accept { worker } => {
                task.worker = Some(worker);
                task.assigned_at = Some(now);
            }
            Action::Start => task.started_at = Some(now),
            Action::Release => {
                task.worker = None;
                task.assigned_at = None;
                task.started_at = None;
            }
            Action::SubmitProof => task.proof_attempts += 1,
            _ => {}
        }
        match to {
            Completed => task.completed_at = Some(now),
            Cancelled => task.cancelled_at = Some(now),
            _ => {}
        }
        task
    }
}

#[cfg(test)]
pub(super) mod tests;
