//! The ledger, and the balances that are kept beside it. No statement changes an entry.

use crate::domain::{
    Entry, Environment, HeldBecause, Owner, Postings, Status, Step, TaskId, TaskLedger, Timestamp,
    WorkerId,
};
use crate::store::tasks::totals::Added;
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro entry;
    table ledger_entries;
    fn entry_values<'a>(entry: &'a Entry);
    columns {
        task_id: entry.task,
        step: entry.step,
        account_id: entry.owner.account,
        environment: entry.owner.environment,
        worker_id: entry.worker,
        processor_cents: entry.postings.processor_cents,
        escrow_cents: entry.postings.escrow_cents,
        worker_cents: entry.postings.worker_cents,
        fees_cents: entry.postings.fees_cents,
        refunds_cents: entry.postings.refunds_cents,
        recorded_at: entry.recorded_at,
    }
    row Entry = Entry {
        task: task_id,
        step,
        owner: Owner { account: account_id, environment },
        worker: worker_id,
        postings: Postings {
            processor_cents,
            escrow_cents,
            worker_cents,
            fees_cents,
            refunds_cents,
        },
        recorded_at,
    };
}

columns! {
    macro task_money;
    columns { id, account_id, environment, status, budget_cents, escrow_cents, worker_id }
    row TaskMoney = TaskMoney {
        id,
        owner: Owner { account: account_id, environment },
        status,
        budget_cents,
        escrow_cents,
        worker: worker_id,
    };
}

columns! {
    macro developer;
    columns { account_id, environment, processor_cents, fees_cents, refunds_cents }
    row DeveloperBalances = DeveloperBalances {
        owner: Owner { account: account_id, environment },
        processor_cents,
        fees_cents,
        refunds_cents,
    };
}

columns! {
    macro worker_balance;
    columns { worker_id, environment, balance_cents }
    row WorkerBalance = WorkerBalance { worker: worker_id, environment, balance_cents };
}

columns! {
    macro payout;
    columns {
        task = "s.task_id",
        cents = "s.worker_cents",
        at = "s.recorded_at",
        sent = "(SELECT CAST(COALESCE(SUM(t.processor_cents), 0) AS BIGINT) FROM ledger_entries t \
            WHERE t.task_id = s.task_id AND t.step IN ('transfer', 'transfer_reversed', \
                'transfer_retry', 'transfer_retry_reversed'))",
        written_off = "(SELECT CAST(COALESCE(-SUM(t.worker_cents), 0) AS BIGINT) FROM ledger_entries t \
            WHERE t.task_id = s.task_id AND t.step = 'write_off')",
        sent_at = "(SELECT MAX(t.recorded_at) FROM ledger_entries t \
            WHERE t.task_id = s.task_id AND t.step IN ('transfer', 'transfer_retry'))",
        title = "(SELECT title FROM tasks WHERE id = s.task_id)",
        waits_for = "j.waits_for",
        run_at = "j.run_at",
        taken_back = "CASE WHEN j.kind IS NOT NULL AND j.run_at IS NULL THEN (SELECT COUNT(*) FROM ledger_entries t \
            WHERE t.task_id = s.task_id AND t.step IN ('dispute_lost', 'dispute_lost_again')) END",
    }
    row Payout = Payout {
        task,
        title,
        cents,
        parts: PayoutParts::of(cents, sent, written_off),
        at,
        sent_at,
        state: payout_state(
            PayoutParts::of(cents, sent, written_off),
            &Transfer { waits_for, run_at, taken_back },
        ),
    };
}

crate::store::statements! {
    WRITE = entry!(insert);
    POST_TO_WORKER = "INSERT INTO worker_balances (worker_id, environment, balance_cents)
        VALUES (?1, ?2, ?3)
        ON CONFLICT (worker_id, environment) DO UPDATE
        SET balance_cents = worker_balances.balance_cents + excluded.balance_cents";
    OF_TASK = concat!("SELECT ", entry!(columns), " FROM ledger_entries WHERE task_id = ?1");
    PAGE = concat!("SELECT ", entry!(columns), " FROM ledger_entries
        WHERE (task_id, step) > (?1, ?2) ORDER BY task_id, step LIMIT ?3");
    TASKS = concat!("SELECT ", task_money!(columns), "
        FROM tasks WHERE id > ?1 ORDER BY id LIMIT ?2");
    /// When no escrow is left, workers are owed what the processor holds beyond the fees.
    OWED = "SELECT CAST(1 AS BIGINT) FROM task_totals WHERE account_id = ?1 AND environment = ?2
        AND (refunds_cents <> 0 OR processor_cents + fees_cents <> 0)";
    DEVELOPERS = concat!("SELECT ", developer!(columns), "
        FROM task_totals WHERE (account_id, environment) > (?1, ?2)
        ORDER BY account_id, environment LIMIT ?3");
    WORKERS = concat!("SELECT ", worker_balance!(columns), " FROM worker_balances
        WHERE (worker_id, environment) > (?1, ?2)
        ORDER BY worker_id, environment LIMIT ?3");
    PAYOUTS = concat!("SELECT ", payout!(columns), " FROM ledger_entries s
        LEFT JOIN jobs j ON j.kind = 'transfer' AND j.subject = s.task_id
        WHERE s.worker_id = ?1 AND s.step = 'settlement' AND s.environment = 'live'
        ORDER BY s.recorded_at DESC LIMIT ?2");
    PAYOUTS_BETWEEN = concat!("SELECT ", payout!(columns), " FROM ledger_entries s
        LEFT JOIN jobs j ON j.kind = 'transfer' AND j.subject = s.task_id
        WHERE s.worker_id = ?1 AND s.step = 'settlement' AND s.environment = 'live'
            AND s.recorded_at >= ?3 AND s.recorded_at < ?4
        ORDER BY s.recorded_at DESC LIMIT ?2");
    /// By the index of the worker. SQLite would prefer the one of all entries of the environment.
    PAID = "SELECT CAST(COALESCE(SUM(processor_cents), 0) AS BIGINT) FROM ledger_entries
        WHERE worker_id = ?1 AND environment || '' = 'live' AND step IN ('transfer', 'transfer_reversed',
            'transfer_retry', 'transfer_retry_reversed')";
    DEVELOPER = concat!("SELECT ", developer!(columns), "
        FROM task_totals WHERE account_id = ?1 AND environment = ?2");
    WORKER = "SELECT balance_cents FROM worker_balances WHERE worker_id = ?1 AND environment = ?2";
}

/// What a worker earned with a task.
#[derive(Clone, Debug)]
pub struct Payout {
    pub task: TaskId,
    pub title: Option<String>,
    pub cents: i64,
    pub parts: PayoutParts,
    pub at: Timestamp,
    /// When it was last sent to the payout account. It may have come back.
    pub sent_at: Option<Timestamp>,
    pub state: PayoutState,
}

/// What became of what a worker earned with a task. A part of a transfer can come back, so there can be
/// several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayoutParts {
    pub paid_cents: i64,
    /// Still owed: what the task has on the worker's balance.
    pub pending_cents: i64,
    pub written_off_cents: i64,
}

impl PayoutParts {
    pub fn of(cents: i64, paid_cents: i64, written_off_cents: i64) -> Self {
        Self {
            paid_cents,
            pending_cents: cents - paid_cents - written_off_cents,
            written_off_cents,
        }
    }
}

/// Whether it was paid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayoutState {
    Pending,
    /// The transfer is held back.
    Held {
        because: HeldBecause,
        /// When it is made, if time alone holds it.
        until: Option<Timestamp>,
    },
    /// It was tried in vain, or came back. An admin decides.
    Failed,
    Paid,
    WrittenOff,
}

/// How the job of a transfer stands.
struct Transfer {
    waits_for: Option<String>,
    run_at: Option<Timestamp>,
    /// Of one that was given up: how often the payer's bank has taken back what it is made from.
    taken_back: Option<i64>,
}

/// While a part is owed, the whole is not over.
fn payout_state(parts: PayoutParts, transfer: &Transfer) -> PayoutState {
    if parts.pending_cents <= 0 {
        return match parts.written_off_cents {
            0 => PayoutState::Paid,
            _ => PayoutState::WrittenOff,
        };
    }
    let waits_for = transfer.waits_for.as_deref();
    match waits_for.and_then(HeldBecause::read) {
        Some(because) => PayoutState::Held {
            because,
            until: transfer
                .run_at
                .filter(|_| because == HeldBecause::HoldPeriod),
        },
        None => match transfer.taken_back {
            None => PayoutState::Pending,
            Some(0) => PayoutState::Failed,
            Some(_) => PayoutState::Held {
                because: HeldBecause::ChargeDisputed,
                until: None,
            },
        },
    }
}

/// The amounts of a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskMoney {
    pub id: TaskId,
    pub owner: Owner,
    pub status: Status,
    pub budget_cents: i64,
    pub escrow_cents: i64,
    pub worker: Option<WorkerId>,
}

/// The ledger accounts of a developer.
#[derive(Clone, Copy, Debug)]
pub struct DeveloperBalances {
    pub owner: Owner,
    pub processor_cents: i64,
    pub fees_cents: i64,
    pub refunds_cents: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct WorkerBalance {
    pub worker: WorkerId,
    pub environment: Environment,
    pub balance_cents: i64,
}

impl Tx<'_> {
    /// Writes an entry that does not belong to a move of a task, and the balances it changes.
    pub fn post(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let added = Added {
            money: entry.postings,
            ..Added::default()
        };
        self.add_to_totals(entry.owner, &added, entry.recorded_at)?;
        self.write_entry(entry)
    }

    /// Writes the entry and the worker's balance. The caller updates the developer's balances and the
    /// task's escrow, because it changes those rows anyway.
    pub(in crate::store) fn write_entry(&mut self, entry: &Entry) -> Result<(), StoreError> {
        if let Some(worker) = entry.worker {
            let environment = entry.owner.environment.into();
            let cents = entry.postings.worker_cents.into();
            self.defer_sum(POST_TO_WORKER, &[worker.into(), environment, cents], 2..3)?;
        }
        self.defer(WRITE, &entry_values(entry))
    }

    /// Every entry of a task. The caller checks that it may see the task.
    pub fn ledger_of_task(&mut self, task: TaskId) -> Result<TaskLedger, StoreError> {
        let entries = self.all(OF_TASK, &[task.into()])?;
        Ok(TaskLedger::of(entries))
    }

    /// Up to `limit` entries in the order of their tasks, after the given one.
    pub fn entries_after(
        &mut self,
        after: Option<(TaskId, Step)>,
        limit: i64,
    ) -> Result<Vec<Entry>, StoreError> {
        let (task, step) = match after {
            Some((task, step)) => (task.to_string(), step.as_str()),
            None => (String::new(), ""),
        };
        self.all(PAGE, &[task.into(), step.into(), limit.into()])
    }

    /// Up to `limit` tasks in the order of their ids, after the given one.
    pub fn tasks_money_after(
        &mut self,
        after: Option<TaskId>,
        limit: i64,
    ) -> Result<Vec<TaskMoney>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        self.all(TASKS, &[after.into(), limit.into()])
    }

    /// Whether a refund or a transfer is still to be made. All tasks of the owner must be over.
    pub fn money_is_owed(&mut self, owner: Owner) -> Result<bool, StoreError> {
        let owed = self.optional::<i64>(OWED, &owned_by(owner))?;
        Ok(owed.is_some())
    }

    pub fn developer_balances_after(
        &mut self,
        after: Option<Owner>,
        limit: i64,
    ) -> Result<Vec<DeveloperBalances>, StoreError> {
        let mut values = match after {
            Some(owner) => owned_by(owner),
            None => vec!["".into(), "".into()],
        };
        values.push(limit.into());
        self.all(DEVELOPERS, &values)
    }

    pub fn developer_balances(
        &mut self,
        owner: Owner,
    ) -> Result<Option<DeveloperBalances>, StoreError> {
        self.optional(DEVELOPER, &owned_by(owner))
    }

    pub fn worker_balances_after(
        &mut self,
        after: Option<(WorkerId, Environment)>,
        limit: i64,
    ) -> Result<Vec<WorkerBalance>, StoreError> {
        let (worker, environment) = match after {
            Some((worker, environment)) => (worker.to_string(), environment.as_str()),
            None => (String::new(), ""),
        };
        let values = [worker.into(), environment.into(), limit.into()];
        self.all(WORKERS, &values)
    }

    /// What a worker has earned, newest first.
    pub fn payouts_of(&mut self, worker: WorkerId, limit: i64) -> Result<Vec<Payout>, StoreError> {
        self.all(PAYOUTS, &[worker.into(), limit.into()])
    }

    /// The same, of one stretch of time: the end is not in it.
    pub fn payouts_between(
        &mut self,
        worker: WorkerId,
        (from, to): (Timestamp, Timestamp),
        limit: i64,
    ) -> Result<Vec<Payout>, StoreError> {
        let values = [worker.into(), limit.into(), from.into(), to.into()];
        self.all(PAYOUTS_BETWEEN, &values)
    }

    /// What has been transferred to a worker.
    pub fn paid_to(&mut self, worker: WorkerId) -> Result<i64, StoreError> {
        let paid = self.optional(PAID, &[worker.into()])?;
        Ok(paid.unwrap_or(0))
    }

    /// What a worker has earned and has not been paid yet.
    pub fn worker_balance(
        &mut self,
        worker: WorkerId,
        environment: Environment,
    ) -> Result<i64, StoreError> {
        let balance = self.optional(WORKER, &[worker.into(), environment.into()])?;
        Ok(balance.unwrap_or(0))
    }
}
