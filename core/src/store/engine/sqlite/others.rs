//! Notices that another program has written to the database, which need not be a Legwork that changes the
//! marker: the `sqlite3` shell, for example.
//!
//! SQLite tells a connection that others have committed (`PRAGMA data_version`). To a connection that
//! never writes, the writer of this process is another one, too. So the writer says after each commit what
//! this connection knows by then, and asks for itself whether anybody else was there meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::store::engine::StoreError;
use crate::store::engine::sqlite::error;

pub struct Others {
    opened: Instant,
    /// When it was last looked, in microseconds since then. 0: never.
    looked: AtomicU64,
    watch: Mutex<Watch>,
}

#[derive(Default)]
struct Watch {
    connection: Option<Connection>,
    /// What it was last told, and what the writer was.
    version: Option<i64>,
    of_writer: Option<i64>,
}

/// Whether somebody else has committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Nobody,
    Somebody,
    /// Nobody knows right now.
    Unknown,
}

impl Others {
    pub fn new() -> Self {
        Self {
            opened: Instant::now(),
            looked: AtomicU64::new(0),
            watch: Mutex::default(),
        }
    }

    /// Looks, unless that was done within this time.
    pub fn look(
        &self,
        within: Duration,
        connect: &dyn Fn() -> Result<Connection, StoreError>,
    ) -> Result<Seen, StoreError> {
        let now = self.opened.elapsed().as_micros() as u64;
        let looked = self.looked.load(Ordering::Relaxed);
        if looked != 0 && now.saturating_sub(looked) < within.as_micros() as u64 {
            return Ok(Seen::Nobody);
        }
        let mut watch = match self.watch.try_lock() {
            Ok(watch) => watch,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(Seen::Unknown),
        };
        let connection = match watch.connection.take() {
            Some(connection) => connection,
            None => connect()?,
        };
        let version = data_version(&connection)?;
        watch.connection = Some(connection);
        let before = watch.version.replace(version);
        self.looked.store(now.max(1), Ordering::Relaxed);
        Ok(seen(before, version))
    }

    /// Called by the writer after each commit.
    pub fn expect(&self, writer: &Connection) -> Result<Seen, StoreError> {
        let mut watch = self.lock();
        let Some(connection) = &watch.connection else {
            return Ok(Seen::Nobody);
        };
        let version = data_version(connection)?;
        // Later than that, so that whoever commits in between is seen now, or else by the next look.
        let of_writer = data_version(writer)?;
        watch.version = Some(version);
        let before = watch.of_writer.replace(of_writer);
        Ok(seen(before, of_writer))
    }

    fn lock(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seen(before: Option<i64>, now: i64) -> Seen {
    match before == Some(now) {
        true => Seen::Nobody,
        false => Seen::Somebody,
    }
}

fn data_version(connection: &Connection) -> Result<i64, StoreError> {
    let mut statement = connection
        .prepare_cached("PRAGMA data_version")
        .map_err(error)?;
    statement.query_row([], |row| row.get(0)).map_err(error)
}
