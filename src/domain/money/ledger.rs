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
        /// The processor transferred what the worker was owed.
        Transfer = "transfer",
        /// The worker can never be paid, so the platform keeps the money.
        WriteOff = "write_off",
    }
);

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

    pub fn refund(task: &Task, cents: i64, now: Timestamp) -> Self {
        let postings = Postings {
            processor_cents: cents,
            refunds_cents: -cents,
            ..Postings::default()
        };
        Self::new(task, Step::Refund, postings, now)
    }

    pub fn transfer(task: &Task, cents: i64, now: Timestamp) -> Self {
        let postings = Postings {
            processor_cents: cents,
            worker_cents: -cents,
            ..Postings::default()
        };
        Self::new(task, Step::Transfer, postings, now)
    }

    pub fn write_off(task: &Task, cents: i64, now: Timestamp) -> Self {
        let postings = Postings {
            worker_cents: -cents,
            fees_cents: cents,
            ..Postings::default()
        };
        Self::new(task, Step::WriteOff, postings, now)
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

    /// Oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn entry(&self, step: Step) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.step == step)
    }

    /// What the developer is due back, refunded or not.
    pub fn promised_refund_cents(&self) -> i64 {
        let owed = |entry: &Entry| entry.postings.refunds_cents.max(0);
        self.entries.iter().map(owed).sum()
    }

    pub fn refunded_cents(&self) -> i64 {
        self.entry(Step::Refund)
            .map_or(0, |entry| entry.postings.processor_cents)
    }

    /// What the worker earned, transferred or not.
    pub fn earned_cents(&self) -> i64 {
        self.entry(Step::Settlement)
            .map_or(0, |entry| entry.postings.worker_cents)
    }

    pub fn transferred_cents(&self) -> i64 {
        self.entry(Step::Transfer)
            .map_or(0, |entry| entry.postings.processor_cents)
    }

    pub fn owed_refund_cents(&self) -> i64 {
        self.promised_refund_cents() - self.refunded_cents()
    }

    pub fn written_off_cents(&self) -> i64 {
        self.entry(Step::WriteOff)
            .map_or(0, |entry| entry.postings.fees_cents)
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
}
