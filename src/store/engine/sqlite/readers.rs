//! Pooled connections for point reads. A snapshot serves several reads.
//!
//! To begin and end a read, SQLite takes two file locks under a lock of the whole process. That costs
//! more than the read itself. So a reader keeps its snapshot until the writer of this process commits,
//! or until it is a few milliseconds old, because another process may have committed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::store::engine::StoreError;
use crate::store::engine::sqlite::execute_cached;

/// How old a snapshot may get, and so how late a change by another process is seen.
const MAX_AGE: Duration = Duration::from_millis(5);

#[derive(Default)]
pub struct Readers {
    idle: Mutex<Vec<Reader>>,
    commits: AtomicU64,
}

struct Reader {
    connection: Connection,
    snapshot: Option<Snapshot>,
}

struct Snapshot {
    begun: Instant,
    commits: u64,
}

impl Readers {
    /// Runs a read on the calling thread, on a pooled connection.
    pub fn with<R>(
        &self,
        connect: impl FnOnce() -> Result<Connection, StoreError>,
        read: impl FnOnce(&Connection) -> R,
    ) -> Result<R, StoreError> {
        let idle = self.lock().pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => Reader {
                connection: connect()?,
                snapshot: None,
            },
        };
        reader.refresh(self.commits.load(Ordering::Acquire))?;
        let result = read(&reader.connection);
        self.lock().push(reader);
        Ok(result)
    }

    /// Called after a commit. Ends the snapshots of idle readers: they would keep SQLite from
    /// checkpointing the write-ahead log.
    pub fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Release);
        for reader in self.lock().iter_mut() {
            reader.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    fn refresh(&mut self, commits: u64) -> Result<(), StoreError> {
        let fresh =
            |snapshot: &Snapshot| snapshot.commits == commits && snapshot.begun.elapsed() < MAX_AGE;
        if self.snapshot.as_ref().is_some_and(fresh) {
            return Ok(());
        }
        self.end();
        execute_cached(&self.connection, "BEGIN")?;
        self.snapshot = Some(Snapshot {
            begun: Instant::now(),
            commits,
        });
        Ok(())
    }

    fn end(&mut self) {
        if self.snapshot.take().is_some() {
            // A read that failed may have ended it already.
            let _ = execute_cached(&self.connection, "COMMIT");
        }
    }
}
