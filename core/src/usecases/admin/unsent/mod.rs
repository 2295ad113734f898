//! Money that was not sent: its job is dead, and an admin decides.

mod close;
mod retry;

pub use close::{close_unsent, unsent_to_close};
pub use retry::{retry_job, retry_payout};

use crate::domain::{
    Actor, JobKind, JobName, OutgoingKind, ProposalKind, QueueItem, QueueKind, Step, TaskId,
    Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::review_queue;

/// What decisions about money of a kind are made of.
#[derive(Debug)]
pub struct Unsent {
    pub kind: OutgoingKind,
    job: JobKind,
    /// The ledger entry that closes it.
    closed_by: Step,
    proposal: ProposalKind,
    /// The line of the audit log about that.
    closed: &'static str,
    /// The review queue items that a decision closes.
    pub(super) items: &'static [QueueKind],
}

impl Unsent {
    /// Can be written off: the worker never gets it.
    pub const PAYOUT: Self = Self {
        kind: OutgoingKind::Transfer,
        job: JobKind::Transfer,
        closed_by: Step::WriteOff,
        proposal: ProposalKind::WriteOff,
        closed: "payout.written_off",
        items: &[QueueKind::FailedPayout, QueueKind::TransferReversed],
    };

    /// Can be settled: the developer has got it in another way.
    pub const REFUND: Self = Self {
        kind: OutgoingKind::Refund,
        job: JobKind::Refund,
        closed_by: Step::RefundSettled,
        proposal: ProposalKind::SettleRefund,
        closed: "refund.settled",
        items: &[QueueKind::RefundFailed],
    };

    fn by(job: JobKind) -> Option<&'static Self> {
        const BOTH: [&Unsent; 2] = [&Unsent::PAYOUT, &Unsent::REFUND];
        BOTH.into_iter().find(|unsent| unsent.job == job)
    }

    fn job(&self, task: TaskId) -> JobName {
        JobName::new(self.job, task)
    }

    pub fn not_failed(&self) -> UseCaseError {
        match self.kind {
            OutgoingKind::Transfer => UseCaseError::PayoutNotFailed,
            OutgoingKind::Refund => UseCaseError::RefundNotFailed,
        }
    }
}

/// The open items about a job. Fails if another admin has claimed one.
fn items(
    tx: &mut Tx<'_>,
    name: &JobName,
    by: &Actor,
    now: Timestamp,
) -> Result<Vec<QueueItem>, UseCaseError> {
    let mut items = Vec::new();
    let kinds = Unsent::by(name.kind).map_or(&[][..], |unsent| unsent.items);
    for kind in kinds {
        let item = review_queue::decidable_item(tx, *kind, &name.subject, by, now)?;
        items.extend(item);
    }
    Ok(items)
}
