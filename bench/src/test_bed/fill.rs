//! A large and a small account, filled in the database itself: over HTTP it would take minutes.

use rusqlite::Connection;

use crate::Result;
use crate::limit::pgbench;
use crate::options::{FEW_TASKS, Options};
use crate::progress;
use crate::test_bed::{Accounts, Engine, Filled, ONE_FUNDED_IN, TestBed};

/// Fills the database of the test bed if that was not done yet.
pub fn filled(options: &Options, bed: &mut TestBed) -> Result<Accounts> {
    if bed.filled.is_none() {
        bed.filled = Some(fill(bed, options)?);
    }
    bed.filled.clone().ok_or_else(|| "not filled".into())
}

fn fill(bed: &mut TestBed, options: &Options) -> Result<Accounts> {
    progress::say(&format!(
        "{}: filling in {} tasks",
        bed.name(),
        options.tasks
    ));
    bed.stop()?;
    let accounts = Accounts {
        large: Filled {
            account: bed.large.clone(),
            tasks: options.tasks,
            ids: "0190aaaa00007000",
        },
        small: Filled {
            account: bed.small.clone(),
            tasks: FEW_TASKS,
            ids: "0190bbbb00007000",
        },
    };
    match &bed.engine {
        Engine::Sqlite => {
            let connection = Connection::open(bed.sqlite_file())?;
            let columns = sqlite_columns(&connection)?;
            for filled in [&accounts.large, &accounts.small] {
                connection.execute_batch(&insert(filled, &columns, "printf('%016x', n)"))?;
                connection.execute_batch(&ledger_entries(filled))?;
                connection.execute_batch(&moves(filled))?;
                connection.execute_batch(&totals(filled))?;
            }
        }
        Engine::Postgres(database) => {
            let columns = pgbench::columns(database, "tasks")?;
            for filled in [&accounts.large, &accounts.small] {
                database.run(&insert(filled, &columns, "lpad(to_hex(n), 16, '0')"))?;
                database.run(&ledger_entries(filled))?;
                database.run(&moves(filled))?;
                database.run(&totals(filled))?;
            }
            // What autovacuum would do soon, done now so that it disturbs no measurement.
            database.run("VACUUM ANALYZE")?;
            database.run("CHECKPOINT")?;
        }
    }
    Ok(accounts)
}

pub fn sqlite_columns(connection: &Connection) -> Result<Vec<String>> {
    let mut columns = connection.prepare("SELECT name FROM pragma_table_info('tasks')")?;
    let names = columns.query_map([], |row| row.get(0))?;
    Ok(names.collect::<std::result::Result<_, _>>()?)
}

/// All tasks from the second on, each like the first.
fn insert(filled: &Filled, columns: &[String], hex: &str) -> String {
    let funded = format!("n % {ONE_FUNDED_IN} = 0");
    let value = |column: &String| match column.as_str() {
        "id" => format!("'{}' || {hex}", filled.ids),
        "number" => "n".to_owned(),
        "status" => format!("CASE WHEN {funded} THEN 'funded' ELSE 'cancelled' END"),
        "escrow_cents" => format!("CASE WHEN {funded} THEN escrow_cents ELSE 0 END"),
        "cancelled_at" => format!("CASE WHEN {funded} THEN NULL ELSE created_at END"),
        _ => column.clone(),
    };
    let values: Vec<_> = columns.iter().map(value).collect();
    format!(
        "WITH RECURSIVE series (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM series WHERE n < {tasks})
         INSERT INTO tasks ({columns}) SELECT {values} FROM series, tasks
         WHERE account_id = '{account}' AND environment = 'test' AND number = 1",
        tasks = filled.tasks,
        columns = columns.join(", "),
        values = values.join(", "),
        account = filled.account.id,
    )
}

/// The ledger entries of these tasks: all were paid for, the cancelled ones were settled.
fn ledger_entries(filled: &Filled) -> String {
    let entries = |step: &str, cents: &str, at: &str, which: &str| {
        format!(
            "INSERT INTO ledger_entries (task_id, step, account_id, environment, processor_cents,
                 escrow_cents, worker_cents, fees_cents, refunds_cents, recorded_at)
             SELECT id, '{step}', account_id, environment, {cents}, {at} FROM tasks
             WHERE account_id = '{account}' AND environment = 'test' AND number > 1 {which};",
            account = filled.account.id,
        )
    };
    let paid = "-budget_cents, budget_cents, 0, 0, 0";
    let refunded = "0, -budget_cents, 0, 0, budget_cents";
    let cancelled = "AND cancelled_at IS NOT NULL";
    entries("payment", paid, "funded_at", "")
        + &entries("settlement", refunded, "cancelled_at", cancelled)
}

/// The moves of these tasks, like those of the first. Their events are older than the retention
/// time.
fn moves(filled: &Filled) -> String {
    let tasks = format!(
        "account_id = '{}' AND environment = 'test'",
        filled.account.id
    );
    let columns = "task_id, number, from_status, to_status, made_by, maker_id, reason, made_at";
    format!(
        "INSERT INTO task_moves ({columns})
         SELECT t.id, m.number, m.from_status, m.to_status, m.made_by, m.maker_id, m.reason, m.made_at
         FROM tasks t, task_moves m WHERE t.number > 1 AND t.{tasks}
             AND m.task_id = (SELECT id FROM tasks WHERE number = 1 AND {tasks});
         INSERT INTO task_moves ({columns})
         SELECT t.id, m.number + 1, 'funded', 'cancelled', 'developer', NULL, NULL, t.cancelled_at
         FROM tasks t, task_moves m WHERE t.cancelled_at IS NOT NULL AND t.{tasks}
             AND m.task_id = t.id AND m.to_status = 'funded';"
    )
}

fn totals(filled: &Filled) -> String {
    let sum = |book: &str| {
        format!(
            "(SELECT SUM({book}) FROM ledger_entries
              WHERE account_id = '{}' AND environment = 'test')",
            filled.account.id
        )
    };
    format!(
        "UPDATE task_totals SET last_number = {tasks}, funded = {funded},
             cancelled = {cancelled}, month = 0, month_tasks = 0,
             processor_cents = {processor}, refunds_cents = {refunds}
         WHERE account_id = '{account}' AND environment = 'test'",
        tasks = filled.tasks,
        funded = filled.funded(),
        cancelled = filled.tasks - filled.funded(),
        processor = sum("ledger_entries.processor_cents"),
        refunds = sum("ledger_entries.refunds_cents"),
        account = filled.account.id,
    )
}
