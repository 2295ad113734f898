//! Pooled connections for point reads. A snapshot serves several reads, and a row may be kept (`kept.rs`).
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

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::hooks::Action;

use crate::store::engine::sqlite::kept::{Changes, Kept, Known, origins};
use crate::store::engine::sqlite::marker::Marker;
use crate::store::engine::sqlite::others::{Connect, Others};
use crate::store::engine::sqlite::{bind, error, execute_cached};
use crate::store::engine::{FromRow, Lookup, Row, StoreError};

/// How old a snapshot may get, and so how late a change by another program is seen.
const MAX_AGE: Duration = Duration::from_millis(5);
/// How often to look for a turn, within two microseconds or so.
const TRIES: usize = 50;

pub struct Readers {
    idle: Mutex<Vec<Reader>>,
    latest: Mutex<Latest>,
    /// What the writer has changed since its last commit.
    changes: Arc<Mutex<Changes>>,
    marker: Marker,
    others: Others,
    max_age: Duration,
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

/// What is committed, as far as this process has noticed: by itself, and by others.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct State {
    commits: u64,
    marked: Option<u64>,
}

/// The state, and the rows that are kept as they are in it.
#[derive(Default)]
struct Latest {
    state: State,
    kept: Kept,
    /// This process has committed, and does not know yet whether others have at the same time.
    unsettled: bool,
}

impl Latest {
    /// Notices what another process has committed.
    fn look_at(&mut self, marker: &Marker) {
        let marked = marker.read();
        if marked != self.state.marked || marked.is_none() {
            self.state.marked = marked;
            // What has changed it may be the commit of this process. If not, it will be noticed afterwards.
            if !self.unsettled {
                self.kept.forget_all();
            }
        }
    }

    /// Somebody else may have committed.
    fn distrust(&mut self) {
        self.state.commits += 1;
        self.kept.forget_all();
    }
}

impl Readers {
    pub fn new(marker: Marker) -> Self {
        Self {
            idle: Mutex::default(),
            latest: Mutex::default(),
            changes: Arc::default(),
            marker,
            others: Others::new(),
            max_age: MAX_AGE,
            reading: AtomicUsize::default(),
            most: OnceLock::new(),
        }
    }

    pub fn turn(&self) -> Option<Turn<'_>> {
        let most = *self.most.get_or_init(all_but_one);
        // What is kept is given within a microsecond or two. To hand a read over to another thread takes longer.
        for _ in 0..TRIES {
            if self.reading.load(Ordering::Relaxed) < most {
                break;
            }
            std::hint::spin_loop();
        }
        let turn = Turn(&self.reading);
        let already = self.reading.fetch_add(1, Ordering::Relaxed);
        (already < most).then_some(turn)
    }

    /// Runs a read on the calling thread, on a pooled connection.
    pub fn with(
        &self,
        connect: &Connect<'_>,
        read: &mut dyn FnMut(&Connection),
    ) -> Result<(), StoreError> {
        let state = self.look().state;
        self.read_in(state, connect, read)
    }

    /// The rows of two lookups, of which the first leads to the second, if both are kept.
    pub fn kept<T: 'static, U: 'static>(
        &self,
        connect: &Connect<'_>,
        lookup: &Lookup<T>,
        then: impl FnOnce(&T) -> Lookup<U>,
    ) -> Option<(T, U)> {
        let mut latest = self.trusted(connect)?;
        let first = latest.kept.row(lookup)?;
        let second = latest.kept.row(&then(&first))?;
        Some((first, second))
    }

    /// The row of a lookup, if there is one: read on the calling thread, or kept from an earlier time.
    pub fn find<T: FromRow + 'static>(
        &self,
        connect: &Connect<'_>,
        lookup: &Lookup<T>,
    ) -> Result<Option<T>, StoreError> {
        let known = match lookup.keep {
            Some(_) => self.known(connect, lookup),
            None => None,
        };
        let (wanted, state) = match known {
            Some((Known::Row(row), _)) => return Ok(Some(row)),
            Some((Known::Wanted, state)) => (true, state),
            Some((Known::Nothing, state)) => (false, state),
            None => (false, self.look().state),
        };
        let mut found = Ok(None);
        self.read_in(state, connect, &mut |connection| {
            found = self.read(connection, lookup, wanted.then_some(state));
        })?;
        found
    }

    /// What is known of a lookup, and what is committed. `None` if neither is known for certain right now.
    fn known<T: 'static>(
        &self,
        connect: &Connect<'_>,
        lookup: &Lookup<T>,
    ) -> Option<(Known<T>, State)> {
        let mut latest = self.trusted(connect)?;
        Some((latest.kept.look(lookup), latest.state))
    }

    /// What is committed and kept, if it is certain that nobody else has committed.
    fn trusted(&self, connect: &Connect<'_>) -> Option<MutexGuard<'_, Latest>> {
        let somebody = || self.latest().distrust();
        if !self.others.look(self.max_age, connect, somebody) {
            return None;
        }
        let latest = self.look();
        (!latest.unsettled).then_some(latest)
    }

    fn read<T: FromRow>(
        &self,
        connection: &Connection,
        lookup: &Lookup<T>,
        keep_of: Option<State>,
    ) -> Result<Option<T>, StoreError> {
        let Some((row, texts)) = find(connection, lookup)? else {
            return Ok(None);
        };
        if let Some(state) = keep_of {
            let places = origins(connection, lookup)?;
            let mut latest = self.look();
            // Who has committed since may have changed what was read.
            if latest.state == state && state.marked.is_some() {
                latest.kept.keep(lookup, &row, texts, places);
            }
        }
        Ok(Some(row))
    }

    fn read_in(
        &self,
        state: State,
        connect: &Connect<'_>,
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
        reader.refresh(state, self.max_age)?;
        read(&reader.connection);
        self.lock().push(reader);
        Ok(())
    }

    /// What the writer changes from now on is known.
    pub fn watch(&self, writer: &mut Connection) -> Result<(), StoreError> {
        let changes = self.changes.clone();
        let note = move |_: Action, _: &str, table: &str, row: i64| {
            let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
            changes.note(table, row);
        };
        writer.update_hook(Some(note)).map_err(error)
    }

    /// Called after a commit of this process, before anybody is told of it.
    pub fn committed(&self, writer: &Connection) {
        self.forget_changed();
        self.settle(writer);
        self.end_idle();
    }

    fn forget_changed(&self) {
        let mut latest = self.latest();
        latest.unsettled = true;
        latest.state.commits += 1;
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        latest.kept.changed(&mut changes);
    }

    /// Tells other processes, and finds out whether one of them has committed as well. It may have changed the marker
    /// just before: nobody will read that any more.
    fn settle(&self, writer: &Connection) {
        let marked = self.marker.change();
        self.others.expect(writer, || self.latest().distrust());
        let mut latest = self.latest();
        latest.state.marked = marked;
        latest.unsettled = false;
    }

    /// Ends the snapshots of idle readers: they would keep SQLite from checkpointing the write-ahead log.
    pub fn end_idle(&self) {
        for reader in self.lock().iter_mut() {
            reader.end();
        }
    }

    /// What is committed by now. The marker is read before others are kept waiting, and again only if it has changed.
    fn look(&self) -> MutexGuard<'_, Latest> {
        let marked = self.marker.read();
        let mut latest = self.latest();
        if marked.is_none() || marked != latest.state.marked {
            latest.look_at(&self.marker);
        }
        latest
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The row of a lookup, if there is one, and how long its texts are.
fn find<T: FromRow>(
    connection: &Connection,
    lookup: &Lookup<T>,
) -> Result<Option<(T, usize)>, StoreError> {
    let mut prepared = bind(connection, lookup.statement, &lookup.values)?;
    let mut rows = prepared.raw_query();
    let Some(row) = rows.next().map_err(error)? else {
        return Ok(None);
    };
    let texts = match lookup.keep {
        Some(_) => length_of_texts(row),
        None => 0,
    };
    Ok(Some((Row::sqlite(row).read()?, texts)))
}

fn length_of_texts(row: &rusqlite::Row<'_>) -> usize {
    let columns = 0..row.as_ref().column_count();
    let texts = columns.filter_map(|column| row.get_ref(column).ok()?.as_bytes_or_null().ok()?);
    texts.map(<[u8]>::len).sum()
}

impl Reader {
    fn refresh(&mut self, state: State, max_age: Duration) -> Result<(), StoreError> {
        let fresh = |snapshot: &Snapshot| {
            let unchanged = snapshot.state == state && state.marked.is_some();
            unchanged && snapshot.begun.elapsed() < max_age
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
