//! The limit of creating tasks on SQLite: the same statements by plain rusqlite, in one thread.
//!
//! One commit holds as many tasks as there are connections: the largest batch that a group commit
//! can collect from clients that each wait for their response.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, Statement, params};

use crate::Result;
use crate::limit::Limit;
use crate::limit::creation::{self, Cell, EVENTS, Own, Step};
use crate::load::{Sample, WARM_UP};
use crate::options::CONNECTIONS;
use crate::test_bed::TestBed;

/// The settings of the server's writer (core/src/store/engine/sqlite/mod.rs), but with the checkpoints that
/// SQLite makes by itself.
const PRAGMAS: &str = "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
    PRAGMA temp_store = MEMORY; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 4000;
    PRAGMA journal_size_limit = 268435456; PRAGMA cache_size = -32768;";

/// A shorter round would see a checkpoint or none.
const SHORTEST: Duration = Duration::from_secs(1);

pub struct RawSqlite {
    connection: Connection,
    accounts: Vec<String>,
    month: i64,
    steps: Vec<Step<Value>>,
    created_at: i64,
    processor_cents: i64,
    inserted: u64,
}

impl RawSqlite {
    /// Works on a copy of the server's database, so schema and accounts are the same.
    pub fn new(bed: &mut TestBed) -> Result<Self> {
        bed.stop()?;
        let file = bed.folder.path().join("raw.db");
        std::fs::copy(bed.sqlite_file(), &file)?;
        let connection = open(&file)?;
        let accounts: Vec<_> = bed.accounts.iter().map(|a| a.id.clone()).collect();
        let first = &accounts[0];
        let one = |column: &str, table: &str| {
            let sql = format!(
                "SELECT {column} FROM {table} WHERE account_id = ?1 AND environment = 'test'"
            );
            connection.query_row(&sql, [first], |row| row.get(0))
        };
        Ok(Self {
            month: one("month", "task_totals")?,
            created_at: one("created_at", "tasks")?,
            processor_cents: one("processor_cents", "ledger_entries")?,
            steps: creation::steps(|sql| row(&connection, sql, first))?,
            connection,
            accounts,
            inserted: 0,
        })
    }
}

impl Limit for RawSqlite {
    fn name(&self) -> String {
        format!("rusqlite, {CONNECTIONS} tasks a commit")
    }

    fn round(&mut self, length: Duration) -> Result<Sample> {
        let mut prepared = Prepared::new(self)?;
        let warm = prepared.insert_for(WARM_UP)?;
        let (started, before) = (Instant::now(), prepared.inserted);
        prepared.insert_for(length.max(SHORTEST))?;
        let (elapsed, inserted) = (started.elapsed(), prepared.inserted);
        drop(prepared);
        self.inserted = inserted;
        self.created_at += (warm + elapsed).as_millis() as i64;
        Ok(Sample::of_count(inserted - before, elapsed))
    }
}

struct Prepared<'r> {
    limit: &'r RawSqlite,
    begin: Statement<'r>,
    number: Statement<'r>,
    steps: Vec<(Statement<'r>, &'r [Cell<Value>])>,
    commit: Statement<'r>,
    inserted: u64,
}

impl<'r> Prepared<'r> {
    fn new(limit: &'r RawSqlite) -> rusqlite::Result<Self> {
        let prepare = |sql: &str| limit.connection.prepare(sql);
        let step = |step: &'r Step<Value>| Ok((prepare(&step.sql)?, &step.cells[..]));
        Ok(Self {
            begin: prepare("BEGIN IMMEDIATE")?,
            number: prepare(creation::NUMBER)?,
            steps: limit
                .steps
                .iter()
                .map(step)
                .collect::<rusqlite::Result<_>>()?,
            commit: prepare("COMMIT")?,
            inserted: limit.inserted,
            limit,
        })
    }

    /// Returns how long it took.
    fn insert_for(&mut self, length: Duration) -> rusqlite::Result<Duration> {
        let started = Instant::now();
        while started.elapsed() < length {
            self.insert_batch(started.elapsed())?;
        }
        Ok(started.elapsed())
    }

    fn insert_batch(&mut self, elapsed: Duration) -> rusqlite::Result<()> {
        self.begin.raw_execute()?;
        for _ in 0..CONNECTIONS {
            self.insert(self.limit.created_at + elapsed.as_millis() as i64)?;
        }
        self.commit.raw_execute().map(drop)
    }

    fn insert(&mut self, now: i64) -> rusqlite::Result<()> {
        self.inserted += 1;
        let accounts = &self.limit.accounts;
        let account = &accounts[self.inserted as usize % accounts.len()];
        let counted = params![
            account,
            "test",
            self.limit.month,
            1_000_000_000,
            0,
            1,
            self.limit.processor_cents,
            EVENTS.len() as i64,
            now
        ];
        let numbers = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let (number, last_event, event_time) = self.number.query_row(counted, numbers)?;
        let task = OneTask {
            account,
            id: id(now, self.inserted),
            number,
            events: [1, 2].map(|event| id(now, self.inserted + (event << 32))),
            last_event,
            event_time,
        };
        for (statement, cells) in &mut self.steps {
            for (index, cell) in cells.iter().enumerate() {
                task.bind(statement, index + 1, cell)?;
            }
            statement.raw_execute()?;
        }
        Ok(())
    }
}

/// The values that differ by task.
struct OneTask<'a> {
    account: &'a str,
    id: String,
    number: i64,
    events: [String; EVENTS.len()],
    last_event: i64,
    event_time: i64,
}

impl OneTask<'_> {
    fn bind(
        &self,
        statement: &mut Statement<'_>,
        place: usize,
        cell: &Cell<Value>,
    ) -> rusqlite::Result<()> {
        let own = match cell {
            Cell::Shared(value) => return statement.raw_bind_parameter(place, value),
            Cell::Own(own) => *own,
        };
        match own {
            Own::Account => statement.raw_bind_parameter(place, self.account),
            Own::Task => statement.raw_bind_parameter(place, &self.id),
            Own::Number => statement.raw_bind_parameter(place, self.number),
            Own::Event(event) => statement.raw_bind_parameter(place, &self.events[event]),
            Own::EventNumber(event) => {
                let first = self.last_event + 1 - EVENTS.len() as i64;
                statement.raw_bind_parameter(place, first + event as i64)
            }
            Own::EventTime => statement.raw_bind_parameter(place, self.event_time),
        }
    }
}

fn row(connection: &Connection, sql: &str, account: &str) -> Result<Vec<(String, Value)>> {
    let mut select = connection.prepare(sql)?;
    let columns: Vec<String> = select.column_names().map(str::to_owned).collect();
    let values: Vec<_> = select.query_row([account], |row| {
        (0..columns.len()).map(|index| row.get(index)).collect()
    })?;
    Ok(columns.into_iter().zip(values).collect())
}

fn open(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.execute_batch(PRAGMAS)?;
    Ok(connection)
}

/// Like the server's ids: hex, ordered by time, then random.
fn id(millis: i64, count: u64) -> String {
    format!(
        "{millis:012x}7000{:016x}",
        count.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    )
}
