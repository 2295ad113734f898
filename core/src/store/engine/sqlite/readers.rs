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

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::hooks::Action;

use crate::store::engine::sqlite::kept::{Changes, Kept, Known, origins};
use crate::store::engine::sqlite::marker::Marker;
use crate::store::engine::sqlite::others::{Others, Seen};
use crate::store::engine::sqlite::{bind, error, execute_cached};
use crate::store::engine::{FromRow, Lookup, Row, StoreError};

/// How old a snapshot may get, and so how late a change by another program is seen.
const MAX_AGE: Duration = Duration::from_millis(5);

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

/// Opens a connection that reads.
type Connect<'a> = dyn Fn() -> Result<Connection, StoreError> + 'a;

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
}

impl Latest {
    /// Notices what another process has committed.
    fn look_at(&mut self, marker: &Marker) -> State {
        let marked = marker.read();
        if marked != self.state.marked || marked.is_none() {
            self.state.marked = marked;
            self.kept.forget_all();
        }
        self.state
    }

    /// Somebody has committed who changed no marker.
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
        let state = self.latest().look_at(&self.marker);
        self.read_in(state, connect, read)
    }

    /// The row of a lookup, if there is one: read on the calling thread, or kept from an earlier time.
    pub fn find<T: FromRow + 'static>(
        &self,
        connect: &Connect<'_>,
        lookup: &Lookup<T>,
    ) -> Result<Option<T>, StoreError> {
        let known = match lookup.keep {
            Some(_) => self.known(connect, lookup)?,
            None => None,
        };
        let (wanted, state) = match known {
            Some((Known::Row(row), _)) => return Ok(Some(row)),
            Some((Known::Wanted, state)) => (true, state),
            Some((Known::Nothing, state)) => (false, state),
            None => (false, self.latest().look_at(&self.marker)),
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
    ) -> Result<Option<(Known<T>, State)>, StoreError> {
        let seen = self.others.look(self.max_age, connect)?;
        if seen == Seen::Unknown {
            return Ok(None);
        }
        let mut latest = self.latest();
        if seen == Seen::Somebody {
            latest.distrust();
        }
        let state = latest.look_at(&self.marker);
        Ok(Some((latest.kept.look(lookup), state)))
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
            let mut latest = self.latest();
            // Who has committed since may have changed what was read.
            if latest.look_at(&self.marker) == state && state.marked.is_some() {
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

    /// Called after a commit, before anybody is told of it. Ends the snapshots of idle readers: they
    /// would keep SQLite from checkpointing the write-ahead log.
    pub fn committed(&self) {
        let mut latest = self.latest();
        // Otherwise what another process has just written there would never be noticed.
        latest.look_at(&self.marker);
        self.marker.change();
        latest.state.marked = self.marker.read();
        latest.state.commits += 1;
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        latest.kept.changed(&mut changes);
        drop((changes, latest));
        for reader in self.lock().iter_mut() {
            reader.end();
        }
    }

    /// Called by the writer after that.
    pub fn expect(&self, writer: &Connection) {
        if self.others.expect(writer).unwrap_or(Seen::Unknown) != Seen::Nobody {
            self.latest().distrust();
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Statement;
    use crate::store::engine::sqlite::connect;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, AtomicI64};
    use tempfile::TempDir;

    /// The count of a key, and that of another table if it has one there.
    const BOTH: Statement = Statement::new(
        "SELECT k.n + COALESCE(o.n, 0) FROM k LEFT JOIN o ON o.name = k.name AND o.n > 0 WHERE k.name = ?1",
    );
    const TABLES: &[(&str, &str)] = &[("k", "k"), ("o", "o")];
    const NAMES: [&str; 3] = ["a", "b", "c"];

    struct Bed {
        readers: Readers,
        /// The writer of this process, another process, and a program that changes no marker.
        writer: Connection,
        other: (Connection, Marker),
        stranger: Connection,
        file: PathBuf,
        _folder: TempDir,
    }

    impl Bed {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("test.db");
            let mut writer = connect(&file).unwrap();
            let prepare = "PRAGMA journal_mode = WAL;
                CREATE TABLE k (name TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL);
                CREATE TABLE o (name TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL);
                INSERT INTO k VALUES ('a', 0), ('b', 0), ('c', 0)";
            writer.execute_batch(prepare).unwrap();
            let mut readers = Readers::new(Marker::open(&file).unwrap());
            // What changes no marker is looked for each time.
            readers.max_age = Duration::ZERO;
            readers.watch(&mut writer).unwrap();
            let open = |file: &Path| connect(file).unwrap();
            Self {
                readers,
                writer,
                other: (open(&file), Marker::open(&file).unwrap()),
                stranger: open(&file),
                file,
                _folder: folder,
            }
        }

        fn find(&self, name: &'static str) -> Option<i64> {
            let lookup = Lookup::new(BOTH, vec![name.into()]).kept(TABLES);
            let found = self.readers.find(&|| connect(&self.file), &lookup);
            found.unwrap()
        }

        fn is_kept(&self, name: &'static str) -> bool {
            let lookup = Lookup::<i64>::new(BOTH, vec![name.into()]).kept(TABLES);
            matches!(self.readers.latest().kept.look(&lookup), Known::Row(_))
        }

        /// As one of the three, and as each of them does.
        fn write(&self, who: usize, sql: &str) {
            match who {
                0 => {
                    self.writer.execute_batch(sql).unwrap();
                    self.readers.committed();
                    self.readers.expect(&self.writer);
                }
                1 => {
                    self.other.0.execute_batch(sql).unwrap();
                    self.other.1.change();
                }
                _ => self.stranger.execute_batch(sql).unwrap(),
            }
        }

        fn truth(&self, name: &str) -> Option<i64> {
            let sql = BOTH.sql();
            let truth = self.stranger.query_row(sql, [name], |row| row.get(0));
            truth.ok()
        }
    }

    #[test]
    fn what_is_asked_again_is_kept_until_it_changes() {
        let bed = Bed::new();
        // Nobody knows yet which commits are the writer's.
        bed.find("c");
        bed.write(0, "UPDATE k SET n = 1 WHERE name = 'c'");
        bed.find("a");
        assert!(!bed.is_kept("a"), "asked once");
        for name in ["a", "b", "b"] {
            bed.find(name);
        }
        assert!(bed.is_kept("a") && bed.is_kept("b"));
        bed.write(0, "UPDATE k SET n = 1 WHERE name = 'a'");
        assert!(!bed.is_kept("a"), "it has changed");
        assert!(bed.is_kept("b"), "it has not");
        bed.write(0, "INSERT INTO o VALUES ('x', 1)");
        assert!(
            !bed.is_kept("b"),
            "such a row may be the one that it did not find"
        );
    }

    #[test]
    fn a_commit_hides_none_of_another_process() {
        let mut bed = Bed::new();
        bed.readers.max_age = Duration::MAX;
        bed.find("a");
        bed.find("a");
        assert!(bed.is_kept("a"));
        bed.write(1, "UPDATE k SET n = 1 WHERE name = 'a'");
        bed.readers.committed();
        assert_eq!(bed.find("a"), Some(1));
    }

    #[test]
    fn what_is_kept_takes_a_bounded_place() {
        const LONG: Statement =
            Statement::new("SELECT name || hex(zeroblob(100000)) FROM k WHERE name = ?1");
        let bed = Bed::new();
        for number in 0..200 {
            bed.write(0, &format!("INSERT INTO k VALUES ('{number} ', 0)"));
        }
        for name in (0..200).flat_map(|number| [format!("{number} "), format!("{number} ")]) {
            let lookup = Lookup::<String>::new(LONG, vec![name.clone().into()]);
            let lookup = lookup.kept(&[("k", "k")]);
            let found = bed.readers.find(&|| connect(&bed.file), &lookup).unwrap();
            assert!(found.unwrap().starts_with(&format!("{name}00")));
        }
        let bytes = bed.readers.latest().kept.bytes();
        assert!((1_000_000..5_000_000).contains(&bytes), "{bytes}");
    }

    proptest::proptest! {
        #[test]
        fn each_reads_what_was_committed_whoever_did(
            steps in proptest::collection::vec((0..3usize, 0..6usize, 0..3usize, 0..3usize), 1..60)
        ) {
            let bed = Bed::new();
            for (number, (who, what, which, looks)) in steps.into_iter().enumerate() {
                let (name, n) = (NAMES[which], number + 1);
                let sql = match what {
                    0 => format!("UPDATE k SET n = {n} WHERE name = '{name}'"),
                    1 => format!("INSERT INTO o VALUES ('{name}', {n}) ON CONFLICT DO UPDATE SET n = {n}"),
                    2 => format!("UPDATE o SET n = -n WHERE name = '{name}'"),
                    3 => format!("DELETE FROM o WHERE name = '{name}'"),
                    4 => format!("DELETE FROM k WHERE name = '{name}'"),
                    _ => format!("INSERT OR IGNORE INTO k VALUES ('{name}', {n})"),
                };
                bed.write(who, &sql);
                for name in NAMES.repeat(looks) {
                    assert_eq!(bed.find(name), bed.truth(name), "{sql} by {who}");
                }
            }
        }
    }

    #[test]
    fn nobody_reads_what_was_before_an_acknowledged_commit() {
        const ROUNDS: i64 = 3_000;
        let bed = Bed::new();
        let (acknowledged, done) = (AtomicI64::new(0), AtomicBool::new(false));
        let (readers, file) = (&bed.readers, &bed.file);
        let read = || {
            let mut reads = 0;
            while !done.load(Ordering::Acquire) {
                let least = acknowledged.load(Ordering::Acquire);
                let lookup = Lookup::<i64>::new(BOTH, vec!["a".into()]).kept(TABLES);
                let found = readers.find(&|| connect(file), &lookup).unwrap().unwrap();
                assert!(found >= least, "{found} after {least}");
                reads += 1;
            }
            reads
        };
        std::thread::scope(|scope| {
            let reading = [scope.spawn(read), scope.spawn(read)];
            let (writer, other) = (bed.writer, &bed.other);
            for n in 1..=ROUNDS {
                let sql = format!("UPDATE k SET n = {n}");
                if n % 3 == 0 {
                    other.0.execute_batch(&sql).unwrap();
                    other.1.change();
                } else {
                    writer.execute_batch(&sql).unwrap();
                    readers.committed();
                    readers.expect(&writer);
                }
                acknowledged.store(n, Ordering::Release);
            }
            done.store(true, Ordering::Release);
            for reads in reading.map(|reading| reading.join().unwrap()) {
                assert!(reads > 0);
            }
        });
    }
}
