//! Pooled connections for point reads. A snapshot serves several reads.
//!
//! To begin and end a read, SQLite takes two file locks under a lock of the whole process. That costs
//! more than the read itself. So a reader keeps its snapshot until the writer of this process commits,
//! or until the marker says that another process has. It is never kept longer than a few milliseconds,
//! because not everybody who can write to the file changes the marker.
//!
//! A read that waits for the disk stalls the thread it runs on. One thread that serves requests must
//! never do that, or a disk that hangs would stop everything: the health checks, and the clock that
//! tells the others that they have waited long enough. So all of them but one may read at a time;
//! what comes beyond that is read on a thread of the store.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::store::engine::sqlite::marker::Marker;
use crate::store::engine::sqlite::{bind, error, execute_cached};
use crate::store::engine::{FromRow, Lookup, Row, StoreError};

/// How old a snapshot may get, and so how late a change by another program is seen.
const MAX_AGE: Duration = Duration::from_millis(5);

pub struct Readers {
    idle: Mutex<Vec<Reader>>,
    commits: AtomicU64,
    marker: Marker,
    /// How many threads that serve requests read right now, and how many may.
    reading: AtomicUsize,
    most: OnceLock<usize>,
}

/// The right to read on a thread that serves requests.
pub struct Turn<'a>(&'a AtomicUsize);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Reader {
    connection: Connection,
    snapshot: Option<Snapshot>,
}

struct Snapshot {
    begun: Instant,
    state: State,
}

/// What was committed when a snapshot began: by this process, and by others.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    commits: u64,
    marked: Option<u64>,
}

impl Readers {
    pub fn new(marker: Marker) -> Self {
        Self {
            idle: Mutex::default(),
            commits: AtomicU64::default(),
            marker,
            reading: AtomicUsize::default(),
            most: OnceLock::new(),
        }
    }

    pub fn turn(&self) -> Option<Turn<'_>> {
        let most = *self.most.get_or_init(all_but_one);
        let turn = Turn(&self.reading);
        let already = self.reading.fetch_add(1, Ordering::Relaxed);
        (already < most).then_some(turn)
    }

    /// Runs a read on the calling thread, on a pooled connection.
    pub fn with(
        &self,
        connect: &dyn Fn() -> Result<Connection, StoreError>,
        read: &mut dyn FnMut(&Connection),
    ) -> Result<(), StoreError> {
        let idle = self.lock().pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => Reader {
                connection: connect()?,
                snapshot: None,
            },
        };
        reader.refresh(self.state())?;
        read(&reader.connection);
        self.lock().push(reader);
        Ok(())
    }

    /// Called after a commit, before anybody is told of it. Ends the snapshots of idle readers: they
    /// would keep SQLite from checkpointing the write-ahead log.
    pub fn committed(&self) {
        self.marker.change();
        self.commits.fetch_add(1, Ordering::Release);
        for reader in self.lock().iter_mut() {
            reader.end();
        }
    }

    fn state(&self) -> State {
        State {
            commits: self.commits.load(Ordering::Acquire),
            marked: self.marker.read(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Reader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of the threads of the runtime that asks first. The command line has one, and nobody else to serve.
fn all_but_one() -> usize {
    let threads =
        tokio::runtime::Handle::try_current().map_or(1, |runtime| runtime.metrics().num_workers());
    (threads - 1).max(1)
}

/// The row of a lookup, if there is one.
pub fn find<T: FromRow>(
    connection: &Connection,
    lookup: &Lookup<T>,
) -> Result<Option<T>, StoreError> {
    let mut prepared = bind(connection, lookup.statement, &lookup.values)?;
    let mut rows = prepared.raw_query();
    let row = rows.next().map_err(error)?;
    row.map(|row| Row::sqlite(row).read()).transpose()
}

impl Reader {
    fn refresh(&mut self, state: State) -> Result<(), StoreError> {
        let fresh = |snapshot: &Snapshot| {
            let unchanged = snapshot.state == state && state.marked.is_some();
            unchanged && snapshot.begun.elapsed() < MAX_AGE
        };
        if self.snapshot.as_ref().is_some_and(fresh) {
            return Ok(());
        }
        self.end();
        execute_cached(&self.connection, "BEGIN")?;
        self.snapshot = Some(Snapshot {
            begun: Instant::now(),
            state,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::sqlite::connect;

    #[test]
    fn what_another_process_commits_is_seen_by_the_next_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.db");
        let writing = connect(&file).unwrap();
        let prepare = "PRAGMA journal_mode = WAL; CREATE TABLE t (n); INSERT INTO t VALUES (0)";
        writing.execute_batch(prepare).unwrap();
        // As in two processes: each has a marker of its own on the same file.
        let ours = Readers::new(Marker::open(&file).unwrap());
        let theirs = Marker::open(&file).unwrap();
        let read = || {
            let mut found = None;
            ours.with(&|| connect(&file), &mut |c| {
                found = c
                    .query_row("SELECT n FROM t", [], |row| row.get::<_, i64>(0))
                    .ok();
            })
            .unwrap();
            found.unwrap()
        };
        for n in 1..=200 {
            assert_eq!(read(), n - 1);
            writing.execute("UPDATE t SET n = ?1", [n]).unwrap();
            theirs.change();
            assert_eq!(read(), n);
        }
    }
}
