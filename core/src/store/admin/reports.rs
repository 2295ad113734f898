//! The figures of reports: sums over the ledger by day, and over the totals. Read all of them in one
//! snapshot, or they do not match each other.

use std::time::Duration;

use crate::domain::admin::report::{DAY_MILLIS, DayEntries, DayTasks, Month};
use crate::domain::{Environment, Postings, Status, TaskId};
use crate::store::tasks::totals::{StatusCounts, counted};
use crate::store::{StoreError, Tx, columns};

/// A sum that is 0 over no rows, and a BIGINT on both engines.
macro_rules! sum {
    ($column:literal) => {
        concat!("CAST(COALESCE(SUM(", $column, "), 0) AS BIGINT)")
    };
}

columns! {
    macro posted;
    columns { processor_cents, escrow_cents, worker_cents, fees_cents, refunds_cents }
    row Postings = Postings {
        processor_cents,
        escrow_cents,
        worker_cents,
        fees_cents,
        refunds_cents,
    };
}

crate::store::statements! {
    ENTRIES_BY_DAY = concat!("SELECT (recorded_at - ?2) / ?4, step, ", posted!(sums), "
        FROM ledger_entries
        WHERE environment = ?1 AND recorded_at >= ?2 AND recorded_at < ?3
        GROUP BY 1, 2");
    ESCROW_SINCE = concat!("SELECT ", sum!("escrow_cents"), " FROM ledger_entries
        WHERE environment = ?1 AND recorded_at >= ?2");
    /// The range of ids uses their index: see `tasks_by_day`. The environment is asked in a way that no
    /// other index answers.
    TASKS_BY_DAY = "SELECT (created_at - ?1) / ?3, COUNT(*) FROM tasks
        WHERE id >= ?4 AND id < ?5
            AND COALESCE(environment, '') = 'live' AND created_at >= ?1 AND created_at < ?2
        GROUP BY 1";
    TEST_TASKS_BY_DAY = "SELECT (created_at - ?1) / ?3, COUNT(*) FROM tasks
        WHERE environment = 'test' AND environment <> 'live' AND created_at >= ?1 AND created_at < ?2
        GROUP BY 1";
    DEVELOPERS = concat!("SELECT ", sum!("processor_cents + fees_cents + refunds_cents"), ", ",
        counted!(sums), " FROM task_totals WHERE environment = ?1");
    WORKERS = concat!("SELECT ", sum!("balance_cents"), " FROM worker_balances
        WHERE environment = ?1");
    ACCOUNTS = "SELECT COUNT(*) FROM accounts";
    TASKS = concat!("SELECT ", sum!("last_number"), " FROM task_totals");
}

/// How far the time in an id can be from the time its task was created. No request takes longer than
/// this, and no clock is set by more meanwhile.
const ID_SLACK: Duration = Duration::from_secs(24 * 60 * 60);

/// The totals of all accounts now.
#[derive(Clone, Debug)]
pub struct Standing {
    pub escrow_cents: i64,
    pub tasks: Vec<(Status, i64)>,
}

impl Tx<'_> {
    /// The entries of a month, summed by day and step. Reads every entry of the month.
    pub fn entries_by_day(
        &mut self,
        month: Month,
        environment: Environment,
    ) -> Result<Vec<DayEntries>, StoreError> {
        let values = [
            environment.into(),
            month.start().into(),
            month.end().into(),
            DAY_MILLIS.into(),
        ];
        let sums = self.all(ENTRIES_BY_DAY, &values)?.into_iter();
        sums.map(|(day, step, sum)| {
            let day = day_index(day)?;
            Ok(DayEntries { day, step, sum })
        })
        .collect()
    }

    /// The tasks created in a month, counted by day. Ids begin with the time they were made, so a range
    /// of ids around the month bounds what is read of live tasks. The clock of a test environment can be
    /// ahead of the ids. The day comes from `created_at`.
    pub fn tasks_by_day(
        &mut self,
        month: Month,
        environment: Environment,
    ) -> Result<Vec<DayTasks>, StoreError> {
        let mut values = vec![month.start().into(), month.end().into(), DAY_MILLIS.into()];
        let statement = match environment {
            Environment::Live => {
                let from = TaskId::new(month.start().minus(ID_SLACK), &[0; 10]);
                let to = TaskId::new(month.end().plus(ID_SLACK), &[0; 10]);
                values.extend([from.into(), to.into()]);
                TASKS_BY_DAY
            }
            Environment::Test => TEST_TASKS_BY_DAY,
        };
        let counts = self.all(statement, &values)?.into_iter();
        counts
            .map(|(day, created)| {
                let day = day_index(day)?;
                Ok(DayTasks { day, created })
            })
            .collect()
    }

    /// The escrow at the end of a month: the escrow now, less what was added since. Reads the entries
    /// since then; there are none if the month is not over yet.
    pub fn escrow_at_end_of(
        &mut self,
        month: Month,
        environment: Environment,
        now: &Standing,
    ) -> Result<i64, StoreError> {
        let values = [environment.into(), month.end().into()];
        let since = self.optional::<i64>(ESCROW_SINCE, &values)?;
        Ok(now.escrow_cents - since.unwrap_or(0))
    }

    /// Summed over the totals. The five ledger accounts add up to zero, so escrow is what the other
    /// four lack.
    pub fn standing(&mut self, environment: Environment) -> Result<Standing, StoreError> {
        let values = [environment.into()];
        let developers = self.optional::<(i64, StatusCounts)>(DEVELOPERS, &values)?;
        let workers = self.optional::<i64>(WORKERS, &values)?;
        let (developers_cents, StatusCounts(tasks)) = developers.ok_or_else(no_row)?;
        Ok(Standing {
            escrow_cents: -developers_cents - workers.unwrap_or(0),
            tasks: tasks.to_vec(),
        })
    }

    /// How many accounts and tasks there are, in all environments.
    pub fn accounts_and_tasks(&mut self) -> Result<(i64, i64), StoreError> {
        let accounts = self.optional(ACCOUNTS, &[])?;
        let tasks = self.optional(TASKS, &[])?;
        Ok((accounts.unwrap_or(0), tasks.unwrap_or(0)))
    }
}

/// The days of a month are counted from 0.
fn day_index(day: i64) -> Result<usize, StoreError> {
    usize::try_from(day).map_err(|error| StoreError::Failed(error.to_string()))
}

fn no_row() -> StoreError {
    StoreError::Failed("a sum over all rows returned no row".into())
}
