//! SQLite: one writer thread with group commit, a thread for checkpoints, and readers beside them.

mod backup;
mod checkpoints;
mod kept;
mod marker;
mod others;
mod readers;
mod source;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkpoints::{CUT_TO_BYTES, Checkpoints, Turns};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use marker::Marker;
use readers::{Readers, Turn};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use writer::Writer;

use crate::ownership;
use crate::store::engine::admission::Admission;
use crate::store::engine::migrate::{self, Migration};
use crate::store::engine::work::Queued;
use crate::store::engine::{FromRow, Load, Lookup, Row, Statement, StoreError, Tx, Value};

pub use backup::{Backup, BackupError, back_up, restore};
pub use source::Source;

/// How many transactions may wait for the writer. More are refused.
const QUEUE: usize = 20_000;
/// Threads for long reads, such as pages deep in a list.
const SNAPSHOT_THREADS: usize = 2;
/// How long to wait for another process (the command line, a backup) to finish its write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// When the store is closed, threads that wait for a disk that hangs are left behind after this time.
const STOP_WITHIN: Duration = Duration::from_secs(3);

pub struct Engine {
    file: PathBuf,
    writer: Option<Sender<Queued>>,
    snapshots: Option<Sender<Queued>>,
    writes_admitted: Admission,
    snapshots_admitted: Admission,
    readers: Arc<Readers>,
    /// Each thread holds a clone. Disconnected once all have ended.
    alive: Option<Sender<()>>,
    ended: Receiver<()>,
}

impl Engine {
    pub fn open(file: &Path, migrations: &'static [Migration]) -> Result<Self, StoreError> {
        make_private(file)?;
        // First of all: it holds off those who must be alone, or is held off by them.
        let marker = Marker::open(file)?;
        let connection = connect(file)?;
        prepare_database(&connection)?;
        migrate_under_lock(&connection, migrations)?;
        let (alive, ended) = bounded(0);
        let mut engine = Self {
            file: file.to_owned(),
            writer: None,
            snapshots: None,
            writes_admitted: Admission::default(),
            snapshots_admitted: Admission::default(),
            readers: Arc::new(Readers::new(marker)),
            alive: Some(alive),
            ended,
        };
        let (writer, queue) = bounded(QUEUE);
        engine.writer = Some(writer);
        // The writer holds the sender: when it ends, so do the checkpoints.
        let (commits, committed) = bounded(1);
        let (readers, turns) = (engine.readers.clone(), Arc::<Turns>::default());
        let checkpoints = Checkpoints::new(connect(file)?, readers.clone(), turns.clone())?;
        let writer = Writer::new(connection, queue, readers, turns, commits)?;
        engine.spawn("sqlite-writer", move || writer.run())?;
        engine.spawn("sqlite-checkpoints", move || checkpoints.run(&committed))?;
        let (snapshots, queue) = bounded(QUEUE);
        engine.snapshots = Some(snapshots);
        for _ in 0..SNAPSHOT_THREADS {
            let connection = connect_to_read(file)?;
            let queue = queue.clone();
            engine.spawn("sqlite-reader", move || snapshot_loop(&connection, &queue))?;
        }
        Ok(engine)
    }

    fn spawn(&self, name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
        let alive = self.alive.clone();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let _alive = alive;
                body();
            });
        thread
            .map(drop)
            .map_err(|e| StoreError::Unavailable(e.to_string()))
    }

    pub fn write(&self, mut queued: Queued) -> Result<(), StoreError> {
        queued.place = Some(self.writes_admitted.admit()?);
        send(self.writer.as_ref(), queued)
    }

    pub fn snapshot(&self, mut queued: Queued) -> Result<(), StoreError> {
        // A request that has read may still be refused by the queue of the writer.
        queued.place = Some(self.snapshots_admitted.admit_lookup()?);
        send(self.snapshots.as_ref(), queued)
    }

    /// The right to read on the calling thread, unless too many threads do so already.
    pub fn inline_turn(&self) -> Option<Turn<'_>> {
        self.readers.turn()
    }

    pub fn load(&self) -> Load {
        let waiting = |queue: &Option<Sender<Queued>>| queue.as_ref().map_or(0, Sender::len);
        Load {
            connections: 1,
            busy: 0,
            queued: waiting(&self.writer),
        }
    }

    /// Runs a read on the calling thread, on a pooled connection.
    pub fn with_reader(&self, read: &mut dyn FnMut(&Connection)) -> Result<(), StoreError> {
        self.readers.with(&|| connect_to_read(&self.file), read)
    }

    /// The rows of two lookups, of which the first leads to the second, if both are kept.
    pub fn kept<T: 'static, U: 'static>(
        &self,
        lookup: &Lookup<T>,
        then: impl FnOnce(&T) -> Lookup<U>,
    ) -> Option<(T, U)> {
        let connect = || connect_to_read(&self.file);
        self.readers.kept(&connect, lookup, then)
    }

    /// Finds a row on the calling thread.
    pub fn find<T: FromRow + 'static>(&self, lookup: &Lookup<T>) -> Result<Option<T>, StoreError> {
        self.readers.find(&|| connect_to_read(&self.file), lookup)
    }
}

impl Drop for Engine {
    /// Waits until the writer has finished its queue, unless the disk hangs.
    fn drop(&mut self) {
        self.writer = None;
        self.snapshots = None;
        self.alive = None;
        if self.ended.recv_timeout(STOP_WITHIN) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("the disk does not answer; what was not acknowledged may be lost");
        }
    }
}

fn send(queue: Option<&Sender<Queued>>, queued: Queued) -> Result<(), StoreError> {
    let Some(queue) = queue else {
        return Err(StoreError::Unavailable("the store is shutting down".into()));
    };
    queue.try_send(queued).map_err(|refused| match refused {
        TrySendError::Full(_) => StoreError::Overloaded,
        TrySendError::Disconnected(_) => StoreError::Unavailable("the writer has stopped".into()),
    })
}

/// Creates the database file with mode 0600, in whatever folder it is. SQLite gives the write-ahead
/// log beside it the same mode.
fn make_private(file: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(file)
        .map(|_| ownership::give_to_owner_of_folder(file))
        .map_err(|error| StoreError::Unavailable(format!("{}: {error}", file.display())))
}

fn connect(file: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(error)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(error)?;
    // Without it, SQLite compiles a statement again whenever its values change.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(error)?;
    connection.set_prepared_statement_cache_capacity(256);
    connection
        .execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
             PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY;",
        )
        .map_err(error)?;
    Ok(connection)
}

/// A connection that cannot write, not even by mistake.
fn connect_to_read(file: &Path) -> Result<Connection, StoreError> {
    let connection = connect(file)?;
    connection
        .execute_batch("PRAGMA query_only = ON")
        .map_err(error)?;
    Ok(connection)
}

/// Settings of the file and of the writing connection. Without automatic checkpoints, a commit never
/// waits for one.
fn prepare_database(connection: &Connection) -> Result<(), StoreError> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    // Another process may be switching the same new file to WAL. SQLite does not wait for that.
    while let Err(failure) = connection.execute_batch("PRAGMA journal_mode = WAL") {
        let busy = failure.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
        if !busy || Instant::now() > deadline {
            return Err(error(failure));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    connection
        .execute_batch(&format!(
            "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = {CUT_TO_BYTES};
             PRAGMA cache_size = -32768;",
        ))
        .map_err(error)
}

fn migrate_under_lock(
    connection: &Connection,
    migrations: &'static [Migration],
) -> Result<(), StoreError> {
    connection.execute_batch("BEGIN IMMEDIATE").map_err(error)?;
    let migrated = migrate::run(&mut SqliteSchema(connection), migrations)
        .and_then(|()| connection.execute_batch("COMMIT").map_err(error));
    if migrated.is_err() && !connection.is_autocommit() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    migrated
}

pub fn pending_migrations(file: &Path, migrations: &[Migration]) -> Result<usize, StoreError> {
    if !file.exists() {
        return Ok(migrations.len());
    }
    migrate::pending(&mut Tx::sqlite(&connect(file)?), migrations)
}

struct SqliteSchema<'a>(&'a Connection);

impl migrate::Schema for SqliteSchema<'_> {
    fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.0.execute_batch(sql).map_err(error)
    }

    fn tx(&mut self) -> Tx<'_> {
        Tx::sqlite(self.0)
    }
}

fn snapshot_loop(connection: &Connection, queue: &Receiver<Queued>) {
    while let Ok(queued) = queue.recv() {
        let Some(mut queued) = queued.taken() else {
            continue;
        };
        let begun = execute_cached(connection, "BEGIN");
        if begun.is_ok() {
            queued.work.run(&mut Tx::sqlite(connection));
            let _ = execute_cached(connection, "COMMIT");
        }
        queued.work.answer(begun);
    }
}

fn execute_cached(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(error)?;
    statement.raw_execute().map_err(error)?;
    Ok(())
}

pub fn each_row(
    connection: &Connection,
    statement: Statement,
    values: &[Value<'_>],
    take: &mut dyn FnMut(Row<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut prepared = bind(connection, statement, values)?;
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next().map_err(error)? {
        take(Row::sqlite(row))?;
    }
    Ok(())
}

pub fn execute(
    connection: &Connection,
    statement: Statement,
    values: &[Value<'_>],
) -> Result<u64, StoreError> {
    let mut prepared = bind(connection, statement, values)?;
    prepared
        .raw_execute()
        .map(|rows| rows as u64)
        .map_err(error)
}

fn bind<'c>(
    connection: &'c Connection,
    statement: Statement,
    values: &[Value<'_>],
) -> Result<rusqlite::CachedStatement<'c>, StoreError> {
    let mut prepared = connection.prepare_cached(statement.sql()).map_err(error)?;
    // A value that is not bound would be NULL without an error.
    if prepared.parameter_count() != values.len() {
        return Err(StoreError::Failed(format!(
            "the statement takes {} values, not {}",
            prepared.parameter_count(),
            values.len()
        )));
    }
    for (index, value) in values.iter().enumerate() {
        prepared
            .raw_bind_parameter(index + 1, value)
            .map_err(error)?;
    }
    Ok(prepared)
}

pub fn check(connection: &Connection, statement: Statement) -> Result<(), StoreError> {
    connection.prepare(statement.sql()).map(drop).map_err(error)
}

/// Each column as `table.column TYPE null|not null`.
pub fn schema(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut columns = connection
        .prepare(
            "SELECT m.name || '.' || c.name || ' ' || upper(c.type)
                    || CASE c.\"notnull\" WHEN 1 THEN ' not null' ELSE ' null' END
             FROM sqlite_master m, pragma_table_info(m.name) c
             WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1",
        )
        .map_err(error)?;
    let rows = columns.query_map([], |row| row.get(0)).map_err(error)?;
    rows.collect::<Result<_, _>>().map_err(error)
}

pub fn error(error: rusqlite::Error) -> StoreError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::OutOfMemory,
        ) => StoreError::Unavailable(text),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            StoreError::Incompatible(format!("the database file is damaged: {text}"))
        }
        _ => StoreError::Failed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_takes_exactly_its_values() {
        let connection = Connection::open_in_memory().unwrap();
        let statement = Statement::new("SELECT COALESCE(?1, 0) + COALESCE(?2, 0)");
        let sum = |values: &[Value<'_>]| Tx::sqlite(&connection).all::<i64>(statement, values);
        assert_eq!(sum(&[1i64.into(), 2i64.into()]).unwrap(), [3]);
        assert!(sum(&[1i64.into()]).is_err());
        assert!(sum(&[1i64.into(), 2i64.into(), 3i64.into()]).is_err());
    }
}
