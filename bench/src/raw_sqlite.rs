//! The limit of creating tasks on SQLite: the same rows by plain rusqlite, in one thread.
//!
//! As many rows go into one commit as there are connections: the largest batch that a group commit
//! can gather from clients that each wait for their answer.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, Statement, ToSql, params};

use crate::Result;
use crate::bed::Bed;
use crate::figures::Limit;
use crate::load::Sample;
use crate::options::CONNECTIONS;

/// As the server sets its writer up (src/store/engine/sqlite.rs).
const PRAGMAS: &str = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
    PRAGMA temp_store = MEMORY; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 4000;
    PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -32768;";

/// As the server numbers a task (src/store/tasks.rs).
const NUMBER: &str = "UPDATE task_totals SET last_number = last_number + 1,
        month_tasks = CASE WHEN month = ?3 THEN month_tasks + 1 ELSE 1 END, month = ?3,
        pending = pending + ?5, funded = funded + ?6, processor_cents = processor_cents + ?7
    WHERE account_id = ?1 AND environment = ?2 AND (month <> ?3 OR month_tasks < ?4)
    RETURNING last_number";

/// The task of an account that the server made, and its line of the journal.
const FIRST_TASK: &str = "account_id = ?1 AND environment = 'test' AND number = 1";
const FIRST_ENTRY: &str = "account_id = ?1 AND environment = 'test' AND step = 'payment'";

pub struct RawSqlite {
    connection: Connection,
    accounts: Vec<String>,
    month: i64,
    task: Pattern,
    entry: Pattern,
    created_at: i64,
    processor_cents: i64,
    inserted: u64,
}

/// A row that the server stored: all others are like it, but for a few columns of their own.
struct Pattern {
    insert: String,
    values: Vec<Value>,
    /// Where in the statement the columns stand that each row has of its own.
    own: Vec<usize>,
}

impl RawSqlite {
    /// Works on a copy of the server's database, so schema and accounts are the same.
    pub fn new(bed: &mut Bed) -> Result<Self> {
        bed.stop()?;
        let file = bed.folder.path().join("raw.db");
        std::fs::copy(bed.sqlite_file(), &file)?;
        let connection = open(&file)?;
        let accounts: Vec<_> = bed.accounts.iter().map(|a| a.id.clone()).collect();
        let first = &accounts[0];
        let one = |sql: &str| connection.query_row(sql, [first], |row| row.get(0));
        let month =
            one("SELECT month FROM task_totals WHERE account_id = ?1 AND environment = 'test'")?;
        let created_at = one(&format!("SELECT created_at FROM tasks WHERE {FIRST_TASK}"))?;
        let processor_cents = one(&format!(
            "SELECT processor_cents FROM ledger_entries WHERE {FIRST_ENTRY}"
        ))?;
        let task = Pattern::read(
            &connection,
            ("tasks", FIRST_TASK, first),
            &["id", "account_id", "number"],
        )?;
        let entry = Pattern::read(
            &connection,
            ("ledger_entries", FIRST_ENTRY, first),
            &["task_id", "account_id"],
        )?;
        Ok(Self {
            connection,
            accounts,
            month,
            task,
            entry,
            created_at,
            processor_cents,
            inserted: 0,
        })
    }

    fn insert_batch(&mut self, elapsed: Duration) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("BEGIN IMMEDIATE")?
            .raw_execute()?;
        let mut number = self.connection.prepare_cached(NUMBER)?;
        let mut insert_task = self.connection.prepare_cached(&self.task.insert)?;
        let mut insert_entry = self.connection.prepare_cached(&self.entry.insert)?;
        for _ in 0..CONNECTIONS {
            self.inserted += 1;
            let account = &self.accounts[self.inserted as usize % self.accounts.len()];
            let counted = params![
                account,
                "test",
                self.month,
                1_000_000_000,
                0,
                1,
                self.processor_cents
            ];
            let given: i64 = number.query_row(counted, |row| row.get(0))?;
            let millis = self.created_at + elapsed.as_millis() as i64;
            let id = id(millis, self.inserted);
            self.task
                .execute(&mut insert_task, &[&id, account, &given])?;
            self.entry.execute(&mut insert_entry, &[&id, account])?;
        }
        self.connection.prepare_cached("COMMIT")?.raw_execute()?;
        Ok(())
    }
}

impl Limit for RawSqlite {
    fn name(&self) -> String {
        format!("rusqlite, {CONNECTIONS} rows a commit")
    }

    fn round(&mut self, length: Duration) -> Result<Sample> {
        let started = Instant::now();
        let before = self.inserted;
        while started.elapsed() < length {
            self.insert_batch(started.elapsed())?;
        }
        let count = self.inserted - before;
        Ok(Sample::of_count(count, started.elapsed()))
    }
}

impl Pattern {
    /// Reads the row of an account that the condition finds in the table.
    fn read(
        connection: &Connection,
        (table, condition, account): (&str, &str, &str),
        own: &[&str],
    ) -> Result<Self> {
        let mut select = connection.prepare(&format!("SELECT * FROM {table} WHERE {condition}"))?;
        let columns: Vec<String> = select.column_names().map(str::to_owned).collect();
        let values = select.query_row([account], |row| {
            (0..columns.len()).map(|index| row.get(index)).collect()
        })?;
        let place = |name: &&str| {
            let index = columns.iter().position(|column| column == name);
            index
                .map(|index| index + 1)
                .ok_or(format!("{table} has no column {name}"))
        };
        let places: Vec<_> = (1..=columns.len()).map(|n| format!("?{n}")).collect();
        Ok(Self {
            insert: format!(
                "INSERT INTO {table} ({}) VALUES ({})",
                columns.join(", "),
                places.join(", ")
            ),
            own: own
                .iter()
                .map(place)
                .collect::<std::result::Result<_, _>>()?,
            values,
        })
    }

    /// Inserts a row with these values in the columns of its own.
    fn execute(&self, insert: &mut Statement<'_>, own: &[&dyn ToSql]) -> rusqlite::Result<()> {
        for (index, value) in self.values.iter().enumerate() {
            insert.raw_bind_parameter(index + 1, value)?;
        }
        for (place, value) in self.own.iter().zip(own) {
            insert.raw_bind_parameter(*place, value)?;
        }
        insert.raw_execute().map(drop)
    }
}

fn open(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.execute_batch(PRAGMAS)?;
    Ok(connection)
}

/// Like the server's ids: hex, by time first, then without order.
fn id(millis: i64, count: u64) -> String {
    format!(
        "{millis:012x}7000{:016x}",
        count.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    )
}
