//! Notices that another program has written to the database, which need not be a Legwork that changes the
//! marker: the `sqlite3` shell, for example.
//!
//! SQLite tells a connection that others have committed (`PRAGMA data_version`). To a connection that
//! never writes, the writer of this process is another one, too. So the writer says after each commit what
//! this connection knows by then, and asks for itself whether anybody else was there meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::store::engine::StoreError;
use crate::store::engine::sqlite::error;

/// Opens a connection that reads.
pub type Connect<'a> = dyn Fn() -> Result<Connection, StoreError> + 'a;

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

impl Others {
    pub fn new() -> Self {
        Self {
            opened: Instant::now(),
            looked: AtomicU64::new(0),
            watch: Mutex::default(),
        }
    }

    /// Looks, unless that was done within this time. Whether it is known if somebody else has committed.
    pub fn look(&self, within: Duration, connect: &Connect<'_>, somebody: impl FnOnce()) -> bool {
        let now = self.opened.elapsed().as_micros() as u64;
        let looked = self.looked.load(Ordering::Acquire);
        if looked != 0 && now.saturating_sub(looked) < within.as_micros() as u64 {
            return true;
        }
        let Some(mut watch) = self.try_lock() else {
            return false;
        };
        match watch.look(connect) {
            Ok(true) => somebody(),
            Ok(false) => {}
            Err(_) => {
                *watch = Watch::default();
                return false;
            }
        }
        // Not before that: others go by it.
        self.looked.store(now.max(1), Ordering::Release);
        true
    }

    /// Called by the writer after each commit. It waits for nobody.
    pub fn expect(&self, writer: &Connection, somebody: impl FnOnce()) {
        let Some(mut watch) = self.try_lock() else {
            return somebody();
        };
        match watch.expect(writer) {
            Ok(true) => somebody(),
            Ok(false) => {}
            Err(_) => {
                *watch = Watch::default();
                somebody();
            }
        }
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Watch>> {
        match self.watch.try_lock() {
            Ok(watch) => Some(watch),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Both tell whether somebody may have committed.
impl Watch {
    fn look(&mut self, connect: &Connect<'_>) -> Result<bool, StoreError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect()?,
        };
        let version = data_version(&connection)?;
        self.connection = Some(connection);
        Ok(self.version.replace(version) != Some(version))
    }

    fn expect(&mut self, writer: &Connection) -> Result<bool, StoreError> {
        let Some(connection) = &self.connection else {
            return Ok(true);
        };
        let version = data_version(connection)?;
        // Later than that, so that whoever commits in between is seen now, or else by the next look.
        let of_writer = data_version(writer)?;
        self.version = Some(version);
        Ok(self.of_writer.replace(of_writer) != Some(of_writer))
    }
}

fn data_version(connection: &Connection) -> Result<i64, StoreError> {
    let mut statement = connection
        .prepare_cached("PRAGMA data_version")
        .map_err(error)?;
    statement.query_row([], |row| row.get(0)).map_err(error)
}
