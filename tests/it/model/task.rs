//! A task as the model sees it: where it stands, what was told of it, and where its money is.

use std::collections::BTreeMap;

use super::table::{self, Money};

pub type Millis = i64;

pub const HOUR: Millis = 60 * 60 * 1_000;
pub const DAY: Millis = 24 * HOUR;
const MAX_ATTEMPTS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doer {
    Worker(usize),
    Simulated,
}

/// How the payment of a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payment {
    NotRequired,
    /// The default method is going to be charged; with or without success.
    Charging {
        good: bool,
    },
    /// The deadline had passed at creation: there is no payment to pay with.
    Later,
    Unpaid,
    Paid,
    CalledOff,
}

impl Payment {
    pub fn status(self) -> &'static str {
        match self {
            Self::NotRequired => "not_required",
            Self::Charging { .. } => "processing",
            Self::Unpaid | Self::Later => "requires_payment",
            Self::Paid => "succeeded",
            Self::CalledOff => "cancelled",
        }
    }
}

/// A line of the history: from, to, by what kind of somebody, and when. Who stands behind a decision is
/// left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub from: Option<&'static str>,
    pub to: &'static str,
    pub by: Option<&'static str>,
    pub at: Millis,
}

/// What an entry of the ledger adds to each account.
pub type Postings = BTreeMap<&'static str, i64>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: String,
    pub developer: usize,
    pub test: bool,
    /// Created with the limited key.
    pub limited: bool,
    /// How its approval stands, if it needs one.
    pub approval: Option<&'static str>,
    pub title: String,
    pub needs_notary: bool,
    pub proof_types: &'static [&'static str],
    pub budget: i64,
    pub fee_percent: i64,
    pub deadline: Option<Millis>,
    pub status: &'static str,
    pub since: Millis,
    pub doer: Option<Doer>,
    /// One for each attempt.
    pub proofs: Vec<&'static str>,
    pub created_at: Millis,
    /// By the clock of live, which the months of all environments follow.
    pub really_created_at: Millis,
    pub updated_at: Millis,
    pub funded_at: Option<Millis>,
    pub assigned_at: Option<Millis>,
    pub started_at: Option<Millis>,
    pub completed_at: Option<Millis>,
    pub cancelled_at: Option<Millis>,
    pub payment: Payment,
    /// Why the last attempt to pay failed.
    pub failure: Option<&'static str>,
    pub refund_due: i64,
    pub transfer_due: i64,
    /// Something was asked of the processor, and who asked died before the answer.
    pub in_doubt: bool,
    /// Type and the status that the event shows.
    pub events: Vec<(&'static str, &'static str)>,
    pub history: Vec<Made>,
    pub ledger: BTreeMap<&'static str, Postings>,
    /// How the work of each worker on it ended: paid, or refused for good.
    pub outcomes: Vec<(usize, bool)>,
    /// A file that is being sent for it.
    pub sending: Option<Sending>,
}

/// Who sends a file, since when, and when the last byte came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    pub by: Doer,
    pub begun: Millis,
    pub last: Millis,
}

/// Rounded half up to a cent.
pub fn fee(cents: i64, percent: i64) -> i64 {
    let hundredths = cents * percent;
    hundredths / 100 + i64::from(hundredths % 100 >= 50)
}

fn postings(all: &[(&'static str, i64)]) -> Postings {
    let moved = all.iter().filter(|(_, cents)| *cents != 0);
    moved.copied().collect()
}

impl Task {
    /// The move that a trigger makes of this task, if there is one.
    pub fn moved(&self, trigger: &str, by: Option<&'static str>, now: Millis) -> Option<Self> {
        self.moved_with(trigger, by, now, None, 0)
    }

    pub fn moved_with(
        &self,
        trigger: &str,
        by: Option<&'static str>,
        now: Millis,
        doer: Option<Doer>,
        paid: i64,
    ) -> Option<Self> {
        let last = trigger == "reject" && self.proofs.len() == MAX_ATTEMPTS;
        let trigger = if last { "reject the third" } else { trigger };
        let row = table::row(self.status, trigger)?;
        let split = trigger == "decide to split";
        if split && !(0..=self.budget).contains(&paid) {
            return None;
        }
        let mut task = self.clone();
        if let Some(Doer::Worker(hand)) = self.doer {
            let outcome = match (self.status, row.to) {
                (_, "completed") => Some((hand, true)),
                (_, "refunded") | ("proof_rejected", "posted" | "expired") => Some((hand, false)),
                _ => None,
            };
            task.outcomes.extend(outcome);
        }
        let made = Made {
            from: Some(self.status),
            to: row.to,
            by,
            at: now,
        };
        task.history.push(made);
        let told = row.events.iter().map(|event| (*event, row.to));
        task.events.extend(told);
        (task.status, task.since, task.updated_at) = (row.to, now, now);
        task.note(trigger, doer, now);
        task.move_money(row.money, paid);
        Some(task)
    }

    /// What changes besides the status.
    fn note(&mut self, trigger: &str, doer: Option<Doer>, now: Millis) {
        match trigger {
            "payment succeeds" => {
                self.funded_at = Some(now);
                if !self.test {
                    (self.payment, self.failure) = (Payment::Paid, None);
                }
            }
            "accept" => (self.doer, self.assigned_at) = (doer, Some(now)),
            "start" => self.started_at = Some(now),
            "release" => (self.doer, self.assigned_at, self.started_at) = (None, None, None),
            "submit" => self.proofs.push("pending"),
            "approve" => *self.proofs.last_mut().unwrap() = "approved",
            "reject" | "reject the third" => *self.proofs.last_mut().unwrap() = "rejected",
            _ => {}
        }
        if self.waits() && ["expired", "cancelled"].contains(&self.status) {
            self.approval = Some(self.status);
        }
        match self.status {
            "completed" => self.completed_at = Some(now),
            "cancelled" => self.cancelled_at = Some(now),
            _ => {}
        }
    }

    fn move_money(&mut self, money: Money, paid: i64) {
        match money {
            Money::Nothing => {}
            Money::Escrow => {
                let entry = postings(&[("processor", -self.budget), ("escrow", self.budget)]);
                self.ledger.insert("payment", entry);
            }
            Money::Refund => self.settle(0),
            Money::Pay => self.settle(self.budget),
            Money::Half => self.settle(self.budget - self.budget / 2),
            Money::Split => self.settle(paid),
        }
    }

    /// So much of the budget is paid for the work, the rest goes back.
    fn settle(&mut self, paid: i64) {
        let fee = fee(paid, self.fee_percent);
        let (payout, refund) = (paid - fee, self.budget - paid);
        let entry = postings(&[
            ("escrow", -self.budget),
            ("worker_balance", payout),
            ("platform_fees", fee),
            ("developer_refunds", refund),
        ]);
        self.ledger.insert("settlement", entry);
        if !self.test {
            (self.transfer_due, self.refund_due) = (payout, refund);
        }
    }

    pub fn is_final(&self) -> bool {
        table::is_final(self.status)
    }

    /// For the yes of a person: until then nobody pays for it.
    pub fn waits(&self) -> bool {
        self.approval == Some("waiting")
    }

    pub fn asking(mut self) -> Self {
        self.events.push(("task.approval_required", self.status));
        self
    }

    /// Nobody is charged for it any more.
    pub fn is_overdue(&self, now: Millis) -> bool {
        !self.test && self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// What the developer reads. Of a task that is over it is not known yet whether somebody has paid.
    pub fn payment_status(&self) -> &'static str {
        match self.payment {
            Payment::Unpaid | Payment::Later if self.is_final() => "processing",
            payment => payment.status(),
        }
    }

    /// What goes back to the developer when it ends.
    pub fn refund(&self) -> i64 {
        let settlement = self.ledger.get("settlement");
        let refund = settlement.and_then(|entry| entry.get("developer_refunds"));
        refund.copied().unwrap_or(0)
    }

    /// Paid for: funded, and posted at once; after the deadline, the money is owed back.
    pub fn paid(&self, now: Millis) -> Option<Self> {
        if self.is_overdue(now) {
            let expired = self.moved("deadline", Some("clock"), now)?;
            return Some(expired.paid_too_late());
        }
        let funded = self.moved("payment succeeds", Some("processor"), now)?;
        funded.moved("publish", Some("service"), now)
    }

    /// Paid for after it was over: the money is owed back.
    pub fn paid_too_late(&self) -> Self {
        let mut task = self.clone();
        (task.payment, task.failure) = (Payment::Paid, None);
        task.refund_due = task.budget;
        let cents = task.budget;
        let entry = postings(&[("processor", -cents), ("developer_refunds", cents)]);
        task.ledger.insert("payment", entry);
        task
    }

    /// Somebody tried to pay in vain. The same reason twice in a row is told once.
    pub fn declined(&self, failure: &'static str) -> Self {
        let mut task = self.clone();
        let charged = task.payment != Payment::Unpaid;
        if charged || task.failure != Some(failure) {
            task.events.push(("task.payment_failed", task.status));
        }
        (task.payment, task.failure) = (Payment::Unpaid, Some(failure));
        task
    }

    fn refunded(&self) -> Self {
        let (mut task, cents) = (self.clone(), self.refund_due);
        task.refund_due = 0;
        let entry = postings(&[("processor", cents), ("developer_refunds", -cents)]);
        task.ledger.insert("refund", entry);
        task.events.push(("task.refund_paid", task.status));
        task
    }

    fn transferred(&self) -> Self {
        let (mut task, cents) = (self.clone(), self.transfer_due);
        task.transfer_due = 0;
        let entry = postings(&[("processor", cents), ("worker_balance", -cents)]);
        task.ledger.insert("transfer", entry);
        task
    }

    /// What the processor can do for this task next.
    pub fn processor_steps(&self, now: Millis) -> Vec<Self> {
        let with = |payment| {
            let mut task = self.clone();
            task.payment = payment;
            task
        };
        let mut steps = Vec::new();
        match (self.payment, self.is_final()) {
            _ if self.waits() => {}
            (Payment::Charging { .. } | Payment::Later, false) if self.is_overdue(now) => {
                steps.extend(self.moved("deadline", Some("clock"), now));
            }
            (Payment::Later, false) => steps.push(with(Payment::Unpaid)),
            (Payment::Charging { good: true }, false) => steps.extend(self.paid(now)),
            (Payment::Charging { good: false }, false) => {
                steps.push(self.declined("card_declined"));
            }
            (Payment::Charging { .. } | Payment::Unpaid | Payment::Later, true) => {
                steps.push(with(Payment::CalledOff));
            }
            _ => {}
        }
        // It may have been charged before it was over, and nobody knows of it yet.
        if self.in_doubt && self.is_final() && self.payment == (Payment::Charging { good: true }) {
            steps.push(self.paid_too_late());
        }
        if self.refund_due > 0 {
            steps.push(self.refunded());
        }
        if self.transfer_due > 0 {
            steps.push(self.transferred());
        }
        steps
    }

    /// What the clock does to this task next, and when; a deadline before anything else.
    pub fn next_by_clock(&self) -> Option<(Millis, &'static str)> {
        let open = [
            "pending",
            "funded",
            "posted",
            "assigned",
            "in_progress",
            "proof_rejected",
        ];
        let due = self.deadline.or(self.funded_at.map(|at| at + 30 * DAY));
        let due = due.filter(|_| open.contains(&self.status));
        let waited = match self.status {
            "pending" => Some((self.created_at + DAY, "nobody pays")),
            "assigned" => Some((self.since + DAY, "release")),
            "in_progress" | "proof_rejected" => Some((self.since + 3 * DAY, "release")),
            "proof_submitted" => Some((self.since + 7 * DAY, "approve")),
            "disputed" => Some((self.since + 30 * DAY, "decide to refund")),
            _ => None,
        };
        match (due, waited) {
            (Some(due), Some(waited)) if waited.0 < due => Some(waited),
            (Some(due), _) => Some((due, "deadline")),
            (None, waited) => waited,
        }
    }

    /// The worker was sending a file when the time was over, and a byte came within 15 minutes; six hours
    /// after that moment it is enough.
    fn is_held(&self, at: Millis, now: Millis) -> bool {
        let takes_proof = ["in_progress", "proof_rejected"].contains(&self.status);
        let bytes_come = self.sending.is_some_and(|sending| {
            Some(sending.by) == self.doer && sending.begun <= at && sending.last > now - HOUR / 4
        });
        takes_proof && bytes_come && now < at + 6 * HOUR
    }

    /// Live: the clock does at this moment all that is due.
    pub fn caught_up(&self, now: Millis) -> Self {
        let mut task = self.clone();
        while let Some((at, trigger)) = task.next_by_clock().filter(|(at, _)| *at <= now) {
            if task.is_held(at, now) {
                break;
            }
            task = task.moved(trigger, Some("clock"), now).unwrap();
        }
        task
    }

    /// Test: the clock is wound, and each thing happens at its own time; none before the one before.
    pub fn wound(&self, to: Millis) -> Self {
        let mut task = self.clone();
        while let Some((at, trigger)) = task.next_by_clock().filter(|(at, _)| *at <= to) {
            let at = at.max(task.updated_at);
            task = task.moved(trigger, Some("clock"), at).unwrap();
        }
        task
    }

    /// Every task that the shortest ways to a status lead to.
    pub fn advanced(&self, to: &str, now: Millis) -> Vec<Self> {
        let (mut reached, mut seen) = (vec![self.clone()], vec![self.place()]);
        while !reached.is_empty() && to != self.status {
            let next: Vec<_> = reached.iter().flat_map(|task| task.helped(now)).collect();
            let arrived: Vec<_> = next.iter().filter(|task| task.status == to).collect();
            if !arrived.is_empty() {
                return arrived.into_iter().cloned().collect();
            }
            reached = next;
            reached.retain(|task| !seen.contains(&task.place()));
            seen.extend(reached.iter().map(Self::place));
        }
        Vec::new()
    }

    fn place(&self) -> (&'static str, usize) {
        (self.status, self.proofs.len())
    }

    fn helped(&self, now: Millis) -> impl Iterator<Item = Self> {
        let doer = Some(Doer::Simulated);
        let tries = table::BY_HELPER.iter();
        let by = Some("simulated_worker");
        tries.filter_map(move |trigger| self.moved_with(trigger, by, now, doer, 0))
    }
}
