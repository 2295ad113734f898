//! Counts what is written to a database while nothing else writes to it.

use std::time::{Duration, Instant};

use legwork::telemetry;
use rusqlite::Connection;

use crate::Result;
use crate::service::TestDatabase;
use crate::test_bed::postgres::Database;

/// How long a database server may take to notice that its clients have disconnected.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, Default)]
pub struct Writes {
    /// Rows inserted, updated and deleted.
    pub rows: f64,
    /// SQLite: transactions that its writer ran. PostgreSQL: transactions that wrote or locked a
    /// row.
    pub transactions: f64,
    /// SQLite: how many commits, each with its sync, the transactions shared.
    pub commits: Option<f64>,
    /// By how many bytes the database grew, with its indexes.
    pub stored_bytes: f64,
    /// PostgreSQL: bytes of its write-ahead log.
    pub log_bytes: Option<f64>,
    /// PostgreSQL on this machine: microseconds of processor time of all its processes.
    pub database_micros: Option<f64>,
}

/// A running count. No one may be connected when it starts and when it ends.
pub struct Meter<'g> {
    database: &'g TestDatabase,
    before: Writes,
}

impl<'g> Meter<'g> {
    pub fn start(database: &'g TestDatabase) -> Result<Self> {
        if let TestDatabase::Sqlite(file) = database {
            count_rows(&Connection::open(file)?)?;
        }
        let before = so_far(database)?;
        Ok(Self { database, before })
    }

    /// What was written since the start, per unit.
    pub fn stop(self, each: u64) -> Result<Writes> {
        let (before, after) = (self.before, so_far(self.database)?);
        let share = |before: f64, after: f64| (after - before) / each as f64;
        let both = |before: Option<f64>, after: Option<f64>| Some(share(before?, after?));
        Ok(Writes {
            rows: share(before.rows, after.rows),
            transactions: share(before.transactions, after.transactions),
            commits: both(before.commits, after.commits),
            stored_bytes: share(before.stored_bytes, after.stored_bytes),
            log_bytes: both(before.log_bytes, after.log_bytes),
            database_micros: both(before.database_micros, after.database_micros),
        })
    }
}

fn so_far(database: &TestDatabase) -> Result<Writes> {
    match database {
        TestDatabase::Sqlite(file) => {
            let connection = Connection::open(file)?;
            let rows = connection.query_row("SELECT rows FROM bench_counts", [], |row| row.get(0));
            Ok(Writes {
                rows: rows?,
                transactions: metric("legwork_writer_batch_size_sum", ""),
                commits: Some(metric("legwork_writer_batch_size_count", "")),
                stored_bytes: std::fs::metadata(file)?.len() as f64,
                log_bytes: None,
                database_micros: None,
            })
        }
        TestDatabase::Postgres(database) => {
            wait_until_left(database)?;
            let counts = database.run(
                "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del), pg_snapshot_xmax(pg_current_snapshot()),
                     pg_database_size(current_database()), pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')
                 FROM pg_stat_user_tables",
            )?;
            let counts: Vec<f64> = counts
                .split('|')
                .map(str::parse)
                .collect::<std::result::Result<_, _>>()?;
            let [rows, transactions, stored_bytes, log_bytes] = counts[..] else {
                return Err("no counts".into());
            };
            Ok(Writes {
                rows,
                transactions,
                commits: None,
                stored_bytes,
                log_bytes: Some(log_bytes),
                database_micros: database
                    .processor_time()?
                    .map(|time| time.as_secs_f64() * 1e6),
            })
        }
    }
}

/// Lets SQLite count, with a trigger for every change of a row. This slows the database down, so
/// nothing is timed meanwhile.
fn count_rows(connection: &Connection) -> Result<()> {
    let mut tables = connection.prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )?;
    let tables: Vec<String> = tables
        .query_map([], |row| row.get(0))?
        .collect::<std::result::Result<_, _>>()?;
    connection.execute_batch(
        "CREATE TABLE bench_counts (rows REAL NOT NULL); INSERT INTO bench_counts VALUES (0)",
    )?;
    for table in tables {
        for event in ["INSERT", "UPDATE", "DELETE"] {
            connection.execute_batch(&format!(
                "CREATE TRIGGER bench_{table}_{event} AFTER {event} ON {table}
                 BEGIN UPDATE bench_counts SET rows = rows + 1; END"
            ))?;
        }
    }
    Ok(())
}

/// A PostgreSQL connection reports what it has written when it ends, if not before.
fn wait_until_left(database: &Database) -> Result<()> {
    let asked = Instant::now();
    let others = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND backend_type = 'client backend'";
    while database.run(others)? != "0" {
        if asked.elapsed() > PATIENCE {
            return Err(format!("there are still connections to {}", database.name).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A metric of the service in this process, summed over its labels.
pub fn metric(name: &str, label: &str) -> f64 {
    let metrics = telemetry::start_metrics().render();
    let lines = metrics.lines().filter(|line| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with([' ', '{']))
            && line.contains(label)
    });
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}
