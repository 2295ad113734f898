//! The journal and the balances that are kept beside it. Nothing here changes an entry.

use crate::domain::{
    AccountId, Entry, Environment, Owner, Postings, Status, Step, TaskId, TaskLedger, Timestamp,
    WorkerId,
};
use crate::store::owned_by;
use crate::store::{Row, StoreError, Tx, Value};

/// The columns of a whole entry, in the order in which `read` takes them.
macro_rules! columns {
    () => {
        "task_id, step, account_id, environment, worker_id, processor_cents, escrow_cents, \
         worker_cents, fees_cents, refunds_cents, recorded_at"
    };
}

crate::store::statements! {
    WRITE = concat!("INSERT INTO ledger_entries (", columns!(), ")
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
    POST_TO_DEVELOPER = "UPDATE task_totals SET processor_cents = processor_cents + ?3,
            fees_cents = fees_cents + ?4, refunds_cents = refunds_cents + ?5
        WHERE account_id = ?1 AND environment = ?2";
    POST_TO_WORKER = "INSERT INTO worker_balances (worker_id, environment, balance_cents)
        VALUES (?1, ?2, ?3)
        ON CONFLICT (worker_id, environment) DO UPDATE
        SET balance_cents = worker_balances.balance_cents + excluded.balance_cents";
    OF_TASK = concat!("SELECT ", columns!(), " FROM ledger_entries WHERE task_id = ?1");
    PAGE = concat!("SELECT ", columns!(), " FROM ledger_entries
        WHERE task_id > ?1 OR (task_id = ?1 AND step > ?2)
        ORDER BY task_id, step LIMIT ?3");
    TASKS = "SELECT id, account_id, environment, status, budget_cents, escrow_cents, worker_id
        FROM tasks WHERE id > ?1 ORDER BY id LIMIT ?2";
    /// When no escrow is left, what the processor holds beyond the fees is what workers are owed.
    OWED = "SELECT CAST(1 AS BIGINT) FROM task_totals WHERE account_id = ?1 AND environment = ?2
        AND (refunds_cents <> 0 OR processor_cents + fees_cents <> 0)";
    DEVELOPERS = "SELECT account_id, environment, processor_cents, fees_cents, refunds_cents
        FROM task_totals WHERE account_id > ?1 OR (account_id = ?1 AND environment > ?2)
        ORDER BY account_id, environment LIMIT ?3";
    WORKERS = "SELECT worker_id, environment, balance_cents FROM worker_balances
        WHERE worker_id > ?1 OR (worker_id = ?1 AND environment > ?2)
        ORDER BY worker_id, environment LIMIT ?3";
    PAYOUTS = "SELECT s.task_id, s.worker_cents, s.recorded_at,
            (SELECT t.step FROM ledger_entries t
                WHERE t.task_id = s.task_id AND t.step IN ('transfer', 'write_off') LIMIT 1)
        FROM ledger_entries s
        WHERE s.worker_id = ?1 AND s.step = 'settlement' AND s.environment = 'live'
        ORDER BY s.recorded_at DESC LIMIT ?2";
    PAID = "SELECT CAST(COALESCE(SUM(processor_cents), 0) AS BIGINT) FROM ledger_entries
        WHERE worker_id = ?1 AND step = 'transfer' AND environment = 'live'";
    DEVELOPER = "SELECT account_id, environment, processor_cents, fees_cents, refunds_cents
        FROM task_totals WHERE account_id = ?1 AND environment = ?2";
    WORKER = "SELECT balance_cents FROM worker_balances WHERE worker_id = ?1 AND environment = ?2";
}

/// What a worker earned with a task.
#[derive(Clone, Copy, Debug)]
pub struct Payout {
    pub task: TaskId,
    pub cents: i64,
    pub at: Timestamp,
    pub state: PayoutState,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayoutState {
    Pending,
    Paid,
    WrittenOff,
}

/// A task as its escrow sees it.
#[derive(Clone, Copy, Debug)]
pub struct TaskMoney {
    pub id: TaskId,
    pub owner: Owner,
    pub status: Status,
    pub budget_cents: i64,
    pub escrow_cents: i64,
    pub worker: Option<WorkerId>,
}

/// The books that are kept for each developer.
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
    /// Writes an entry that is no move of a task, with the balances it changes.
    pub fn post(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let mut values = owned_by(entry.owner);
        values.extend(developer_books(entry.postings));
        self.execute_one(POST_TO_DEVELOPER, &values)?;
        self.write_entry(entry)
    }

    /// Writes the line of the journal and the worker's balance. The developer's books and the
    /// task's escrow are up to the caller, who changes those rows anyway.
    pub(in crate::store) fn write_entry(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let postings = entry.postings;
        let worker = entry.worker.map(|id| id.to_string());
        if let Some(worker) = &worker {
            let environment = entry.owner.environment.as_str().into();
            let values = [worker.into(), environment, postings.worker_cents.into()];
            self.defer(POST_TO_WORKER, &values)?;
        }
        self.defer(
            WRITE,
            &[
                entry.task.to_string().into(),
                entry.step.as_str().into(),
                entry.owner.account.to_string().into(),
                entry.owner.environment.as_str().into(),
                worker.into(),
                postings.processor_cents.into(),
                postings.escrow_cents.into(),
                postings.worker_cents.into(),
                postings.fees_cents.into(),
                postings.refunds_cents.into(),
                entry.recorded_at.into(),
            ],
        )
    }

    /// Every entry of a task. Whether the caller may see it is the caller's to check.
    pub fn ledger_of_task(&mut self, task: TaskId) -> Result<TaskLedger, StoreError> {
        let entries = self.all(OF_TASK, &[task.to_string().into()], read)?;
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
        self.all(PAGE, &[task.into(), step.into(), limit.into()], read)
    }

    /// Up to `limit` tasks in the order of their ids, after the given one.
    pub fn tasks_money_after(
        &mut self,
        after: Option<TaskId>,
        limit: i64,
    ) -> Result<Vec<TaskMoney>, StoreError> {
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        self.all(TASKS, &[after.into(), limit.into()], |row| {
            let worker: Option<String> = row.get(6)?;
            Ok(TaskMoney {
                id: row.parse(0, TaskId::parse)?,
                owner: read_owner(row, 1)?,
                status: row.parse(3, Status::parse)?,
                budget_cents: row.get(4)?,
                escrow_cents: row.get(5)?,
                worker: worker.as_deref().and_then(WorkerId::parse),
            })
        })
    }

    /// Whether a refund or a transfer of an owner's tasks, all of which are over, is still to be made.
    pub fn money_is_owed(&mut self, owner: Owner) -> Result<bool, StoreError> {
        let owed = self.optional(OWED, &owned_by(owner), |row| row.get::<i64>(0))?;
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
        self.all(DEVELOPERS, &values, read_developer)
    }

    pub fn developer_balances(
        &mut self,
        owner: Owner,
    ) -> Result<Option<DeveloperBalances>, StoreError> {
        self.optional(DEVELOPER, &owned_by(owner), read_developer)
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
        self.all(WORKERS, &values, |row| {
            Ok(WorkerBalance {
                worker: row.parse(0, WorkerId::parse)?,
                environment: row.parse(1, Environment::parse)?,
                balance_cents: row.get(2)?,
            })
        })
    }

    /// What a worker has earned, newest first.
    pub fn payouts_of(&mut self, worker: WorkerId, limit: i64) -> Result<Vec<Payout>, StoreError> {
        self.all(PAYOUTS, &[worker.to_string().into(), limit.into()], |row| {
            Ok(Payout {
                task: row.parse(0, TaskId::parse)?,
                cents: row.get(1)?,
                at: row.get(2)?,
                state: match row.get::<Option<String>>(3)?.as_deref() {
                    None => PayoutState::Pending,
                    Some("write_off") => PayoutState::WrittenOff,
                    Some(_) => PayoutState::Paid,
                },
            })
        })
    }

    /// What has been transferred to a worker.
    pub fn paid_to(&mut self, worker: WorkerId) -> Result<i64, StoreError> {
        let paid = self.optional(PAID, &[worker.to_string().into()], |row| row.get(0))?;
        Ok(paid.unwrap_or(0))
    }

    /// What a worker has earned and not been paid yet.
    pub fn worker_balance(
        &mut self,
        worker: WorkerId,
        environment: Environment,
    ) -> Result<i64, StoreError> {
        let values = [worker.to_string().into(), environment.as_str().into()];
        let balance = self.optional(WORKER, &values, |row| row.get(0))?;
        Ok(balance.unwrap_or(0))
    }
}

/// What postings add to the books that stand in a developer's totals, in the order of the
/// statements.
pub(in crate::store) fn developer_books(postings: Postings) -> [Value<'static>; 3] {
    [
        postings.processor_cents.into(),
        postings.fees_cents.into(),
        postings.refunds_cents.into(),
    ]
}

fn read(row: &Row<'_>) -> Result<Entry, StoreError> {
    let worker: Option<String> = row.get(4)?;
    Ok(Entry {
        task: row.parse(0, TaskId::parse)?,
        step: row.parse(1, Step::parse)?,
        owner: read_owner(row, 2)?,
        worker: worker.as_deref().and_then(WorkerId::parse),
        postings: Postings {
            processor_cents: row.get(5)?,
            escrow_cents: row.get(6)?,
            worker_cents: row.get(7)?,
            fees_cents: row.get(8)?,
            refunds_cents: row.get(9)?,
        },
        recorded_at: row.get(10)?,
    })
}

fn read_developer(row: &Row<'_>) -> Result<DeveloperBalances, StoreError> {
    Ok(DeveloperBalances {
        owner: read_owner(row, 0)?,
        processor_cents: row.get(2)?,
        fees_cents: row.get(3)?,
        refunds_cents: row.get(4)?,
    })
}

fn read_owner(row: &Row<'_>, index: usize) -> Result<Owner, StoreError> {
    Ok(Owner {
        account: row.parse(index, AccountId::parse)?,
        environment: row.parse(index + 1, Environment::parse)?,
    })
}
