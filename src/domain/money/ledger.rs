//! The ledger: double entry, in whole cents. What leaves one book enters another.
//!
//! A positive balance is money that somebody has a claim to: a task's escrow, a worker, the
//! platform, a developer who is owed a refund. The processor's book is the other side, what it holds
//! for all of them, and so it is negative; together the books are always zero.

use crate::domain::string_enum::string_enum;
use crate::domain::tasks::pricing::Settlement;
use crate::domain::{Owner, Task, TaskId, Timestamp, WorkerId};

string_enum!(
    /// Where money can be.
    Book {
        /// With the payment processor; kept for each developer.
        Processor = "processor",
        /// Held for a task.
        Escrow = "escrow",
        /// Earned by a worker, not yet transferred.
        WorkerBalance = "worker_balance",
        /// Earned by the platform; kept for each developer.
        PlatformFees = "platform_fees",
        /// Owed back to a developer, not yet refunded.
        DeveloperRefunds = "developer_refunds",
    }
);

string_enum!(
    /// The steps that the money of a task takes, each at most once.
    Step {
        /// The developer has paid.
        Payment = "payment",
        /// The escrow is parted between worker, platform and developer.
        Settlement = "settlement",
        /// The processor has refunded what the developer was owed.
        Refund = "refund",
        /// The processor has transferred what the worker was owed.
        Transfer = "transfer",
        /// What the worker was owed cannot be transferred, ever: it is the platform's.
        WriteOff = "write_off",
    }
);

/// What an entry adds to each book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Postings {
    pub processor_cents: i64,
    pub escrow_cents: i64,
    pub worker_cents: i64,
    pub fees_cents: i64,
    pub refunds_cents: i64,
}

impl Postings {
    pub const fn by_book(self) -> [(Book, i64); 5] {
        [
            (Book::Processor, self.processor_cents),
            (Book::Escrow, self.escrow_cents),
            (Book::WorkerBalance, self.worker_cents),
            (Book::PlatformFees, self.fees_cents),
            (Book::DeveloperRefunds, self.refunds_cents),
        ]
    }

    pub fn are_balanced(self) -> bool {
        self.by_book().iter().map(|(_, cents)| cents).sum::<i64>() == 0
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

/// One line of the journal. It is written once and never changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub task: TaskId,
    pub owner: Owner,
    /// Whose balance changes, when a worker's does.
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

    /// A payment for a task that is over already: it goes straight to what the developer is owed.
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

/// The whole story of a task's money.
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

    /// What the developer was promised back, whether it has been refunded or not.
    pub fn promised_refund_cents(&self) -> i64 {
        let owed = |entry: &Entry| entry.postings.refunds_cents.max(0);
        self.entries.iter().map(owed).sum()
    }

    pub fn refunded_cents(&self) -> i64 {
        self.entry(Step::Refund)
            .map_or(0, |entry| entry.postings.processor_cents)
    }

    /// What the worker earned, whether it has been transferred or not.
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
