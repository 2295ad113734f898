//! Recomputes everything from the ledger entries and compares it with balances, tasks, payments and
//! the processor.

mod walk;

use std::collections::HashMap;
use std::time::Duration;

use crate::domain::{
    Entry, Environment, JobKind, JobName, LedgerAccount, OutgoingKind, Owner, Payment,
    PaymentStatus, Postings, ProcessorName, Status, Step, TaskId, TaskLedger, Timestamp, WorkerId,
};
use crate::payments::{Movement, Processor, ProcessorError};
use crate::store::{Store, StoreError, TaskMoney, Tx};
use walk::{AT_ONCE, Entries, Payments};

/// Differences beyond this number are counted but not listed.
const MAX_LISTED: usize = 1_000;
/// How long a processor event may take before its absence counts as a difference.
const NOTICE_GRACE: Duration = Duration::from_secs(15 * 60);

#[derive(Clone, Debug, Default)]
pub struct LedgerReport {
    pub tasks: u64,
    pub entries: u64,
    /// The balance of each ledger account, by environment.
    pub balances: Vec<(Environment, LedgerAccount, i64)>,
    /// Movements that the processor made and that a job or an event is about to record.
    pub in_flight: u64,
    /// The same, one by one, as far as they are listed.
    pub to_be_recorded: Vec<String>,
    /// Refunds and transfers whose jobs are not done.
    pub owed: u64,
    /// Payments that another processor made than the one that was asked.
    pub not_compared: u64,
    pub differences: Vec<String>,
    /// Differences that are not listed.
    pub unlisted: u64,
}

impl LedgerReport {
    pub fn is_right(&self) -> bool {
        self.differences.is_empty()
    }

    fn expect(&mut self, what: String) {
        self.in_flight += 1;
        if self.to_be_recorded.len() < MAX_LISTED {
            self.to_be_recorded.push(what);
        }
    }

    fn differ(&mut self, what: String) {
        if self.differences.len() < MAX_LISTED {
            self.differences.push(what);
        } else {
            self.unlisted += 1;
        }
    }
}

/// The ledger could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Processor(#[from] ProcessorError),
}

/// Reads the whole database at one moment. The processor is asked before and after: what it did
/// before must be in the ledger, and what is in the ledger it must have done after.
pub async fn verify_ledger(
    store: &Store,
    processor: &dyn Processor,
    now: Timestamp,
) -> Result<LedgerReport, VerifyError> {
    let name = processor.name();
    let before = processor.movements().await?;
    let (mut report, recorded) = store
        .snapshot(move |tx| {
            let mut check = Check::new(name, now);
            check.lost = walk::lost_by_task(tx)?;
            check.tasks(tx)?;
            check.unrecorded(tx, &before)?;
            check.developers(tx)?;
            check.workers(tx)?;
            check.totals();
            Ok::<_, StoreError>((check.report, check.recorded))
        })
        .await?;
    let mut made: HashMap<(TaskId, Step), i64> = HashMap::new();
    for movement in processor.movements().await? {
        *made.entry((movement.task, movement.step)).or_default() += movement.cents;
    }
    for ((task, step), cents) in recorded {
        let made = made.get(&(task, step)).copied().unwrap_or(0);
        if made != cents {
            report.differ(format!(
                "task {task} has a {step} of {cents}, but the processor made one of {made}"
            ));
        }
    }
    Ok(report)
}

struct Check {
    processor: ProcessorName,
    now: Timestamp,
    /// What the ledger says the processor did.
    recorded: HashMap<(TaskId, Step), i64>,
    /// What the payers' banks took back, by the disputes.
    lost: HashMap<TaskId, i64>,
    developers: HashMap<Owner, Postings>,
    workers: HashMap<(WorkerId, Environment), i64>,
    sums: HashMap<(Environment, LedgerAccount), i64>,
    report: LedgerReport,
}

impl Check {
    fn new(processor: ProcessorName, now: Timestamp) -> Self {
        Self {
            processor,
            now,
            recorded: HashMap::new(),
            lost: HashMap::new(),
            developers: HashMap::new(),
            workers: HashMap::new(),
            sums: HashMap::new(),
            report: LedgerReport::default(),
        }
    }

    /// Walks tasks, entries and payments in parallel, ordered by task id.
    fn tasks(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let mut entries = Entries::default();
        let mut payments = Payments::default();
        let mut after = None;
        loop {
            let page = tx.tasks_money_after(after, AT_ONCE)?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            for task in &page {
                for stray in entries.before(tx, task.id)? {
                    self.differ(stray.task, "has entries but does not exist");
                }
                let ledger = TaskLedger::of(entries.of(tx, task.id)?);
                let payment = payments.of(tx, task.id)?;
                self.task(tx, task, &ledger, payment.as_ref())?;
            }
        }
        while let Some(stray) = entries.next(tx)? {
            self.differ(stray.task, "has entries but does not exist");
        }
        Ok(())
    }

    fn task(
        &mut self,
        tx: &mut Tx<'_>,
        task: &TaskMoney,
        ledger: &TaskLedger,
        payment: Option<&Payment>,
    ) -> Result<(), StoreError> {
        self.report.tasks += 1;
        for entry in ledger.entries() {
            self.entry(task, entry);
        }
        self.escrow(task, ledger);
        match task.owner.environment {
            Environment::Live => {
                self.owed(tx, task, ledger)?;
                self.payment(task, ledger, payment);
                self.disputes(task, ledger);
            }
            Environment::Test => {
                let sent = ledger
                    .entries()
                    .iter()
                    .any(|entry| !matches!(entry.step, Step::Payment | Step::Settlement));
                if sent || payment.is_some() {
                    self.differ(task.id, "is a test task but reached a processor");
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, task: &TaskMoney, entry: &Entry) {
        self.report.entries += 1;
        if !entry.postings.are_balanced() {
            self.differ(
                task.id,
                format!("has a {} that does not balance", entry.step),
            );
        }
        if entry.owner != task.owner {
            self.differ(task.id, format!("has a {} of another owner", entry.step));
        }
        for (book, cents) in entry.postings.by_account() {
            let sum = (entry.owner.environment, book);
            *self.sums.entry(sum).or_default() += cents;
        }
        let developer = self.developers.entry(entry.owner).or_default();
        developer.processor_cents += entry.postings.processor_cents;
        developer.fees_cents += entry.postings.fees_cents;
        developer.refunds_cents += entry.postings.refunds_cents;
        if let Some(worker) = entry.worker {
            let worker = (worker, entry.owner.environment);
            *self.workers.entry(worker).or_default() += entry.postings.worker_cents;
        }
    }

    /// Compares the escrow of a task with its entries and its status.
    fn escrow(&mut self, task: &TaskMoney, ledger: &TaskLedger) {
        let escrowed = |entry: &Entry| entry.postings.escrow_cents;
        let sum: i64 = ledger.entries().iter().map(escrowed).sum();
        if sum != task.escrow_cents {
            let kept = task.escrow_cents;
            self.differ(
                task.id,
                format!("has {kept} in escrow, but its entries add up to {sum}"),
            );
        }
        let open = task.status != Status::Pending && !task.status.is_final();
        let expected = if open { task.budget_cents } else { 0 };
        if sum != expected {
            let status = task.status;
            self.differ(
                task.id,
                format!("is {status} with {sum} in escrow; expected {expected}"),
            );
        }
        let paid_in = ledger
            .entry(Step::Payment)
            .is_some_and(|entry| entry.postings.escrow_cents > 0);
        let settled = ledger.entry(Step::Settlement).is_some();
        if settled != (paid_in && task.status.is_final()) {
            let status = task.status;
            self.differ(
                task.id,
                format!("is {status}, paid: {paid_in}, settled: {settled}"),
            );
        }
        if let Some(settlement) = ledger.entry(Step::Settlement)
            && settlement.postings.escrow_cents != -task.budget_cents
        {
            self.differ(task.id, "was not settled for its budget");
        }
    }

    /// An owed amount must have a job that will pay it, alive or dead.
    fn owed(
        &mut self,
        tx: &mut Tx<'_>,
        task: &TaskMoney,
        ledger: &TaskLedger,
    ) -> Result<(), StoreError> {
        for (owed, kind) in [
            (ledger.owed_refund_cents(), JobKind::Refund),
            (ledger.owed_payout_cents(), JobKind::Transfer),
        ] {
            if owed < 0 {
                self.differ(task.id, format!("got {} too much by {kind}", -owed));
            }
            if owed > 0 {
                self.report.owed += 1;
                if !tx.job_exists(&JobName::new(kind, task.id))? {
                    self.differ(
                        task.id,
                        format!("owes a {kind} of {owed} but has no job for it"),
                    );
                }
            }
        }
        Ok(())
    }

    /// Compares the entries of a live task with our record of its payment and with the processor's.
    fn payment(&mut self, task: &TaskMoney, ledger: &TaskLedger, payment: Option<&Payment>) {
        let Some(payment) = payment else {
            if !ledger.entries().is_empty() {
                self.differ(task.id, "has entries but no payment");
            }
            return;
        };
        let succeeded = payment.status == PaymentStatus::Succeeded;
        if succeeded != ledger.entry(Step::Payment).is_some() {
            let status = payment.status;
            self.differ(
                task.id,
                format!("has a payment that is {status}, but the ledger disagrees"),
            );
        }
        if payment.amount_cents != task.budget_cents {
            self.differ(task.id, "has a payment that differs from its budget");
        }
        if payment.processor != self.processor {
            self.report.not_compared += 1;
            return;
        }
        if let Some(entry) = ledger.entry(Step::Payment) {
            let cents = -entry.postings.processor_cents;
            self.recorded.insert((task.id, Step::Payment), cents);
        }
        // What came back does not count, neither here nor at the processor.
        for kind in OutgoingKind::ALL {
            let [(step, _), _] = kind.steps();
            if ledger.entry(step).is_some() {
                let cents = ledger.sent_cents(*kind);
                self.recorded.insert((task.id, step), cents);
            }
        }
    }

    /// The ledger has a step for two lost disputes of a charge. What a third took shows here.
    fn disputes(&mut self, task: &TaskMoney, ledger: &TaskLedger) {
        let lost = self.lost.get(&task.id).copied().unwrap_or(0);
        let recorded = ledger.lost_cents();
        if lost != recorded {
            let text =
                format!("lost {lost} by disputes of its charge, but the ledger has {recorded}");
            self.differ(task.id, text);
        }
    }

    /// What the processor did before must be recorded, or a job must be about to record it.
    fn unrecorded(&mut self, tx: &mut Tx<'_>, before: &[Movement]) -> Result<(), StoreError> {
        for movement in before {
            if self.recorded.contains_key(&(movement.task, movement.step)) {
                continue;
            }
            let Movement {
                task, step, cents, ..
            } = movement;
            let found = format!("task {task} has a {step} of {cents} at the processor");
            match self.recorder(tx, movement)? {
                Some(recorder) => self.report.expect(format!("{found}: {recorder}")),
                None => self
                    .report
                    .differ(format!("{found} but none in the ledger")),
            }
        }
        Ok(())
    }

    /// What is going to record a movement, if anything is.
    fn recorder(
        &self,
        tx: &mut Tx<'_>,
        movement: &Movement,
    ) -> Result<Option<&'static str>, StoreError> {
        let kind = match OutgoingKind::of(movement.step) {
            Some(OutgoingKind::Refund) => JobKind::Refund,
            Some(OutgoingKind::Transfer) => JobKind::Transfer,
            None => JobKind::Charge,
        };
        let young = movement.step == Step::Payment && movement.at > self.now.minus(NOTICE_GRACE);
        let mut job = tx.job(&JobName::new(kind, movement.task))?;
        if kind == JobKind::Charge && !self.is_charged(tx, movement.task)? {
            job = None;
        }
        Ok(match job {
            Some(job) if job.run_at.is_none() => {
                Some("its job is dead, and records it when it is retried")
            }
            Some(_) => Some("its job records it"),
            None if movement.event_pending || young => {
                Some("a message of the processor records it")
            }
            None => None,
        })
    }

    /// Whether a job charges the payment of a task. What a person has paid, it does not find.
    fn is_charged(&self, tx: &mut Tx<'_>, task: TaskId) -> Result<bool, StoreError> {
        let payment = tx.payment(task)?;
        Ok(payment.is_some_and(|payment| payment.method.is_some()))
    }

    fn developers(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = tx.developer_balances_after(after, AT_ONCE)?;
            let Some(last) = page.last() else { break };
            after = Some(last.owner);
            for kept in &page {
                let sums = self.developers.remove(&kept.owner).unwrap_or_default();
                let Owner {
                    account,
                    environment,
                } = kept.owner;
                for (book, kept, sum) in [
                    (
                        LedgerAccount::Processor,
                        kept.processor_cents,
                        sums.processor_cents,
                    ),
                    (
                        LedgerAccount::PlatformFees,
                        kept.fees_cents,
                        sums.fees_cents,
                    ),
                    (
                        LedgerAccount::DeveloperRefunds,
                        kept.refunds_cents,
                        sums.refunds_cents,
                    ),
                ] {
                    if kept != sum {
                        self.report.differ(format!(
                            "account {account} ({environment}) has {kept} in {book}, but its entries add up to {sum}"
                        ));
                    }
                }
            }
        }
        for owner in std::mem::take(&mut self.developers).into_keys() {
            let Owner {
                account,
                environment,
            } = owner;
            self.report.differ(format!(
                "account {account} ({environment}) has entries but no balances"
            ));
        }
        Ok(())
    }

    fn workers(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = tx.worker_balances_after(after, AT_ONCE)?;
            let Some(last) = page.last() else { break };
            after = Some((last.worker, last.environment));
            for kept in &page {
                let (worker, environment) = (kept.worker, kept.environment);
                let sum = self.workers.remove(&(worker, environment)).unwrap_or(0);
                let kept = kept.balance_cents;
                if kept != sum {
                    self.report.differ(format!(
                        "worker {worker} ({environment}) has a balance of {kept}, but the entries add up to {sum}"
                    ));
                }
            }
        }
        for (worker, environment) in std::mem::take(&mut self.workers).into_keys() {
            self.report.differ(format!(
                "worker {worker} ({environment}) has entries but no balance"
            ));
        }
        Ok(())
    }

    fn totals(&mut self) {
        for environment in Environment::ALL {
            let mut total = 0;
            for book in LedgerAccount::ALL {
                let sum = self.sums.get(&(*environment, *book)).copied();
                let sum = sum.unwrap_or(0);
                total += sum;
                self.report.balances.push((*environment, *book, sum));
            }
            if total != 0 {
                self.report.differ(format!(
                    "the accounts of {environment} add up to {total}, not to zero"
                ));
            }
        }
    }

    fn differ(&mut self, task: TaskId, what: impl std::fmt::Display) {
        self.report.differ(format!("task {task} {what}"));
    }
}
