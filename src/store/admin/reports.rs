//! What reports are made of: sums of the journal by day, and of the totals that are kept. All of it
//! is to be read in one snapshot, or the sums do not belong together.

use std::time::Duration;

use crate::domain::admin::report::{DAY_MILLIS, DayEntries, DayTasks, Month};
use crate::domain::{Environment, Postings, Status, Step, TaskId};
use crate::store::tasks::COUNTED;
use crate::store::{Row, StoreError, Tx};

/// A sum that is 0 over no rows, and a BIGINT on both engines.
macro_rules! sum {
    ($column:literal) => {
        concat!("CAST(COALESCE(SUM(", $column, "), 0) AS BIGINT)")
    };
}

crate::store::statements! {
    ENTRIES_BY_DAY = concat!("SELECT (recorded_at - ?2) / ?4, step, ", sum!("processor_cents"), ", ",
        sum!("escrow_cents"), ", ", sum!("worker_cents"), ", ", sum!("fees_cents"), ", ",
        sum!("refunds_cents"), " FROM ledger_entries
        WHERE environment = ?1 AND recorded_at >= ?2 AND recorded_at < ?3
        GROUP BY 1, 2");
    ESCROW_SINCE = concat!("SELECT ", sum!("escrow_cents"), " FROM ledger_entries
        WHERE environment = ?1 AND recorded_at >= ?2");
    /// The ids are there for their index: see `tasks_by_day`.
    TASKS_BY_DAY = "SELECT (created_at - ?2) / ?4, COUNT(*) FROM tasks
        WHERE id >= ?5 AND id < ?6
            AND environment = ?1 AND created_at >= ?2 AND created_at < ?3
        GROUP BY 1";
    DEVELOPERS = concat!("SELECT ", sum!("processor_cents + fees_cents + refunds_cents"), ", ",
        sum!("pending"), ", ", sum!("funded"), ", ", sum!("posted"), ", ", sum!("assigned"), ", ",
        sum!("in_progress"), ", ", sum!("proof_submitted"), ", ", sum!("proof_rejected"), ", ",
        sum!("completed"), ", ", sum!("cancelled"), ", ", sum!("expired"), ", ",
        sum!("disputed"), ", ", sum!("refunded"), " FROM task_totals WHERE environment = ?1");
    WORKERS = concat!("SELECT ", sum!("balance_cents"), " FROM worker_balances
        WHERE environment = ?1");
    ACCOUNTS = "SELECT COUNT(*) FROM accounts";
    TASKS = concat!("SELECT ", sum!("last_number"), " FROM task_totals");
}

/// How far the moment in an id can be from the moment its task was created: a request takes no
/// longer, and no clock is set by more while it is answered.
const ID_SLACK: Duration = Duration::from_secs(24 * 60 * 60);

/// What all accounts together have now.
#[derive(Clone, Debug)]
pub struct Standing {
    pub escrow_cents: i64,
    pub tasks: Vec<(Status, i64)>,
}

impl Tx<'_> {
    /// The entries of a month, added up by day and step. Reads as many as the month has.
    pub fn entries_by_day(
        &mut self,
        month: Month,
        environment: Environment,
    ) -> Result<Vec<DayEntries>, StoreError> {
        let values = [
            environment.as_str().into(),
            month.start().into(),
            month.end().into(),
            DAY_MILLIS.into(),
        ];
        self.all(ENTRIES_BY_DAY, &values, |row| {
            Ok(DayEntries {
                day: day(row)?,
                step: row.parse(1, Step::parse)?,
                sum: Postings {
                    processor_cents: row.get(2)?,
                    escrow_cents: row.get(3)?,
                    worker_cents: row.get(4)?,
                    fees_cents: row.get(5)?,
                    refunds_cents: row.get(6)?,
                },
            })
        })
    }

    /// The tasks created in a month, counted by day. Ids begin with the moment they were made at, so
    /// those around the month bound what is read; which day it was, the task says itself.
    pub fn tasks_by_day(
        &mut self,
        month: Month,
        environment: Environment,
    ) -> Result<Vec<DayTasks>, StoreError> {
        let values = [
            environment.as_str().into(),
            month.start().into(),
            month.end().into(),
            DAY_MILLIS.into(),
            TaskId::new(month.start().minus(ID_SLACK), &[0; 10])
                .to_string()
                .into(),
            TaskId::new(month.end().plus(ID_SLACK), &[0; 10])
                .to_string()
                .into(),
        ];
        self.all(TASKS_BY_DAY, &values, |row| {
            Ok(DayTasks {
                day: day(row)?,
                created: row.get(1)?,
            })
        })
    }

    /// What was held for tasks when a month was over: what is held now, less what has come since.
    /// Reads the entries since, and none for the month that is not over yet.
    pub fn escrow_at_end_of(
        &mut self,
        month: Month,
        environment: Environment,
        now: &Standing,
    ) -> Result<i64, StoreError> {
        let values = [environment.as_str().into(), month.end().into()];
        let since = self.optional(ESCROW_SINCE, &values, |row| row.get::<i64>(0))?;
        Ok(now.escrow_cents - since.unwrap_or(0))
    }

    /// From the totals that are kept. The five books are zero together, so what is in none of the
    /// other four is in escrow.
    pub fn standing(&mut self, environment: Environment) -> Result<Standing, StoreError> {
        let values = [environment.as_str().into()];
        let developers = self.optional(DEVELOPERS, &values, |row| {
            let counts = COUNTED.iter().enumerate();
            let tasks = counts.map(|(index, status)| Ok((*status, row.get(index + 1)?)));
            Ok((row.get::<i64>(0)?, tasks.collect::<Result<_, _>>()?))
        })?;
        let workers = self.optional(WORKERS, &values, |row| row.get::<i64>(0))?;
        let (developers_cents, tasks) = developers.unwrap_or_default();
        Ok(Standing {
            escrow_cents: -developers_cents - workers.unwrap_or(0),
            tasks,
        })
    }

    /// How many accounts and tasks there are, in all environments.
    pub fn accounts_and_tasks(&mut self) -> Result<(i64, i64), StoreError> {
        let accounts = self.optional(ACCOUNTS, &[], |row| row.get(0))?;
        let tasks = self.optional(TASKS, &[], |row| row.get(0))?;
        Ok((accounts.unwrap_or(0), tasks.unwrap_or(0)))
    }
}

fn day(row: &Row<'_>) -> Result<usize, StoreError> {
    let day: i64 = row.get(0)?;
    usize::try_from(day).map_err(|error| StoreError::Failed(error.to_string()))
}
