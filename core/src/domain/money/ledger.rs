//! The ledger: double-entry bookkeeping in whole cents. Every entry adds up to zero.
//!
//! A positive balance is money owed to someone: the escrow of a task, a worker, the platform, or a
//! developer who is due a refund. The processor's account is the other side, what it holds for all
//! of them, so its balance is negative. All accounts together are always zero.

use crate::domain::string_enum::string_enum;
use crate::domain::tasks::pricing::Settlement;
use crate::domain::{Owner, Task, TaskId, Timestamp, WorkerId};

string_enum!(
    /// An account of the ledger.
    LedgerAccount {
        /// Held by the payment processor. One per developer.
        Processor = "processor",
        /// Held for a task.
        Escrow = "escrow",
        /// Earned by a worker and not yet transferred.
        WorkerBalance = "worker_balance",
        /// Earned by the platform. One per developer.
        PlatformFees = "platform_fees",
        /// Owed to a developer and not yet refunded.
        DeveloperRefunds = "developer_refunds",
    }
);

string_enum!(
    /// A step in the money of a task. Each happens at most once.
    Step {
        /// The developer paid.
        Payment = "payment",
        /// The escrow is split between worker, platform and developer.
        Settlement = "settlement",
        /// The processor refunded what the developer was owed.
        Refund = "refund",
        /// The refund did not reach the developer: the processor has the money again.
        RefundFailed = "refund_failed",
        /// The processor refunded what was owed again after the refund had failed.
        RefundRetry = "refund_retry",
        /// The second refund did not reach the developer either.
        RefundRetryFailed = "refund_retry_failed",
        /// The processor transferred what the worker was owed.
        Transfer = "transfer",
        /// The transfer, or a part of it, was reversed: the processor has the money again.
        TransferReversed = "transfer_reversed",
        /// The processor transferred what was owed again after the transfer had been reversed.
        TransferRetry = "transfer_retry",
        /// The second transfer was reversed too.
        TransferRetryReversed = "transfer_retry_reversed",
        /// The worker can never be paid, so the platform keeps the money.
        WriteOff = "write_off",
        /// The refund could not be made, and the developer got the money in another way.
        RefundSettled = "refund_settled",
        /// The payer's bank took the payment back, at the expense of the platform.
        DisputeLost = "dispute_lost",
        /// The payer's bank took another part of the payment back, by a second dispute.
        DisputeLostAgain = "dispute_lost_again",
        /// What the developer was owed came back by the lost dispute, so it is not refunded.
        RefundOffset = "refund_offset",
    }
);

string_enum!(
    /// Money that leaves the processor for somebody.
    OutgoingKind {
        /// To the developer.
        Refund = "refund",
        /// To the worker.
        Transfer = "transfer",
    }
);

/// A charge can be disputed in parts. More than two are rare: `verify_ledger` shows what is missing.
const DISPUTES_LOST: [Step; 2] = [Step::DisputeLost, Step::DisputeLostAgain];

impl OutgoingKind {
    /// The steps that record it, each with the step that records its return. A step happens once, so
    /// it can be repeated once.
    pub const fn steps(self) -> [(Step, Step); 2] {
        match self {
            Self::Refund => [
                (Step::Refund, Step::RefundFailed),
                (Step::RefundRetry, Step::RefundRetryFailed),
            ],
            Self::Transfer => [
                (Step::Transfer, Step::TransferReversed),
                (Step::TransferRetry, Step::TransferRetryReversed),
            ],
        }
    }

    /// The kind that a step belongs to, if it moves money out or back.
    pub fn of(step: Step) -> Option<Self> {
        let kinds = Self::ALL.iter().copied();
        kinds.into_iter().find(|kind| {
            kind.steps()
                .iter()
                .any(|(out, back)| step == *out || step == *back)
        })
    }
}

/// What an entry adds to each account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Postings {
    pub processor_cents: i64,
    pub escrow_cents: i64,
    pub worker_cents: i64,
    pub fees_cents: i64,
    pub refunds_cents: i64,
}

impl Postings {
    pub const fn by_account(self) -> [(LedgerAccount, i64); 5] {
        [
            (LedgerAccount::Processor, self.processor_cents),
            (LedgerAccount::Escrow, self.escrow_cents),
            (LedgerAccount::WorkerBalance, self.worker_cents),
            (LedgerAccount::PlatformFees, self.fees_cents),
            (LedgerAccount::DeveloperRefunds, self.refunds_cents),
        ]
    }

    pub fn are_balanced(self) -> bool {
        self.by_account()
            .iter()
            .map(|(_, cents)| cents)
            .sum::<i64>()
            == 0
    }
}

impl Settlement {
    pub const fn postings(self) -> Postings {
        Postings {
            processor_cents: -self.escrow_cents,
            escrow_cents: self.escrow_cents
                - self.refund_cents
                - self.payout_cents
                - self.fee_cents,
            worker_cents: self.payout_cents,
            fees_cents: self.fee_cents,
            refunds_cents: self.refund_cents,
        }
    }
}

/// A ledger entry. It is written once and never changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub task: TaskId,
    pub owner: Owner,
    /// The worker whose balance changes, if any.
    pub worker: Option<WorkerId>,
    pub step: Step,
    pub postings: Postings,
    pub recorded_at: Timestamp,
}

impl Entry {
    pub(in crate::domain) fn of_move(
        task: &Task,
        settlement: Settlement,
        now: Timestamp,
    ) -> Option<Self> {
        if settlement == Settlement::default() {
            return None;
        }
        let step = if settlement.escrow_cents > 0 {
            Step::Payment
        } else {
            Step::Settlement
        };
        Some(Self::new(task, step, settlement.postings(), now))
    }

    /// A payment for a task that has already ended. All of it is owed to the developer.
    pub fn late_payment(task: &Task, cents: i64, now: Timestamp) -> Self {
        let postings = Postings {
            processor_cents: -cents,
            refunds_cents: cents,
            ..Postings::default()
        };
        Self::new(task, Step::Payment, postings, now)
    }

    /// Money that left the processor by this step, or came back if it is negative.
    pub fn outgoing(
        task: &Task,
        kind: OutgoingKind,
        step: Step,
        cents: i64,
        now: Timestamp,
    ) -> Self {
        let (worker_cents, refunds_cents) = match kind {
            OutgoingKind::Refund => (0, -cents),
            OutgoingKind::Transfer => (-cents, 0),
        };
        let postings = Postings {
            processor_cents: cents,
            worker_cents,
            refunds_cents,
            ..Postings::default()
        };
        Self::new(task, step, postings, now)
    }

    /// The platform pays what the bank took. `step` is the first or the second lost dispute.
    pub fn dispute_lost(task: &Task, step: Step, cents: i64, now: Timestamp) -> Self {
        let postings = Postings {
            processor_cents: cents,
            fees_cents: -cents,
            ..Postings::default()
        };
        Self::new(task, step, postings, now)
    }

    /// Closes what is owed without the processor: the platform keeps what the processor has.
    pub fn closing(task: &Task, step: Step, cents: i64, now: Timestamp) -> Self {
        let (worker_cents, refunds_cents) = match step {
            Step::WriteOff => (-cents, 0),
            _ => (0, -cents),
        };
        let postings = Postings {
            worker_cents,
            refunds_cents,
            fees_cents: cents,
            ..Postings::default()
        };
        Self::new(task, step, postings, now)
    }

    fn new(task: &Task, step: Step, postings: Postings, now: Timestamp) -> Self {
        let worker = task.worker.filter(|_| postings.worker_cents != 0);
        Self {
            task: task.id,
            owner: task.owner,
            worker,
            step,
            postings,
            recorded_at: now,
        }
    }
}

/// All ledger entries of a task.
#[derive(Clone, Debug, Default)]
pub struct TaskLedger {
    entries: Vec<Entry>,
}

impl TaskLedger {
    pub fn of(mut entries: Vec<Entry>) -> Self {
        entries.sort_by_key(|entry| (entry.recorded_at, entry.step as usize));
        Self { entries }
    }

    /// The same with one more entry.
    pub fn with(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        Self::of(self.entries)
    }

    /// Oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn entry(&self, step: Step) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.step == step)
    }

    /// What the developer is due back, refunded or not.
    pub fn promised_refund_cents(&self) -> i64 {
        let promises = [Step::Payment, Step::Settlement];
        let entries = promises.into_iter().filter_map(|step| self.entry(step));
        entries.map(|entry| entry.postings.refunds_cents).sum()
    }

    /// What has left the processor and has not come back.
    pub fn sent_cents(&self, kind: OutgoingKind) -> i64 {
        let entries = self.entries.iter();
        entries
            .filter(|entry| OutgoingKind::of(entry.step) == Some(kind))
            .map(|entry| entry.postings.processor_cents)
            .sum()
    }

    /// The step that records the next movement; none when it was repeated already.
    pub fn next_step(&self, kind: OutgoingKind) -> Option<Step> {
        let steps = kind.steps().into_iter();
        steps
            .map(|(out, _)| out)
            .find(|step| self.entry(*step).is_none())
    }

    /// The step that records the next lost dispute; none after the second.
    pub fn next_dispute_lost(&self) -> Option<Step> {
        let mut steps = DISPUTES_LOST.into_iter();
        steps.find(|step| self.entry(*step).is_none())
    }

    /// What the payer's bank has taken back.
    pub fn lost_cents(&self) -> i64 {
        let entries = DISPUTES_LOST.into_iter();
        entries
            .filter_map(|step| self.entry(step))
            .map(|entry| entry.postings.processor_cents)
            .sum()
    }

    pub fn refunded_cents(&self) -> i64 {
        self.sent_cents(OutgoingKind::Refund)
    }

    /// What the worker earned, transferred or not.
    pub fn earned_cents(&self) -> i64 {
        self.entry(Step::Settlement)
            .map_or(0, |entry| entry.postings.worker_cents)
    }

    pub fn transferred_cents(&self) -> i64 {
        self.sent_cents(OutgoingKind::Transfer)
    }

    pub fn owed_cents(&self, kind: OutgoingKind) -> i64 {
        match kind {
            OutgoingKind::Refund => self.owed_refund_cents(),
            OutgoingKind::Transfer => self.owed_payout_cents(),
        }
    }

    /// What was closed without the processor by this step.
    fn closed_cents(&self, step: Step) -> i64 {
        self.entry(step)
            .map_or(0, |entry| entry.postings.fees_cents)
    }

    /// What the developer has got back by a lost dispute instead of a refund.
    pub fn offset_cents(&self) -> i64 {
        self.closed_cents(Step::RefundOffset)
    }

    pub fn owed_refund_cents(&self) -> i64 {
        self.promised_refund_cents()
            - self.refunded_cents()
            - self.offset_cents()
            - self.closed_cents(Step::RefundSettled)
    }

    pub fn written_off_cents(&self) -> i64 {
        self.closed_cents(Step::WriteOff)
    }

    pub fn owed_payout_cents(&self) -> i64 {
        self.earned_cents() - self.transferred_cents() - self.written_off_cents()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_settlement_balances(
            escrow in 0i64..1_000_000, refund in 0i64..1_000_000,
            payout in 0i64..1_000_000, fee in 0i64..1_000_000,
        ) {
            let settlement = Settlement {
                escrow_cents: escrow, refund_cents: refund, payout_cents: payout, fee_cents: fee,
            };
            prop_assert!(settlement.postings().are_balanced());
        }
    }

    #[test]
    fn each_step_of_outgoing_money_belongs_to_one_kind() {
        for step in Step::ALL {
            let kinds = OutgoingKind::ALL
                .iter()
                .filter(|kind| OutgoingKind::of(*step) == Some(**kind));
            let name = step.as_str();
            let moves = name.starts_with("refund") || name.starts_with("transfer");
            let closes = [Step::RefundOffset, Step::RefundSettled].contains(step);
            let expected = usize::from(moves && !closes);
            assert_eq!(kinds.count(), expected, "{step}");
        }
    }
}
