//! Checkpoints: the pages of the write-ahead log are copied into the database file, on a thread beside
//! the writer.
//!
//! A passive checkpoint stops nobody. But while the writer goes on, it never reaches the end of the
//! log, and only a log that was copied to its end is written from its start again. So when the log is
//! long, the writer waits for a moment: what it has written since the last checkpoint is copied, and the
//! log restarts. A reader that still needs the log prevents that; then the log grows until the reader
//! has ended. Writers do not wait for readers: a backup must not stop the service.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError};
use metrics::{gauge, histogram};
use rusqlite::Connection;

use crate::store::engine::StoreError;
use crate::store::engine::sqlite::error;
use crate::store::engine::sqlite::readers::Readers;

/// How often the log is looked at while there are commits.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// What was committed is copied within this time, however little it is.
const COPY_WITHIN: Duration = Duration::from_secs(1);
/// After a checkpoint that failed, and after a reader has kept the log from restarting.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How long the writer waits for readers to let go of the log.
const WAIT_FOR_READERS: Duration = Duration::from_millis(10);
/// How often the log of the server says that the write-ahead log is too long.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// In pages.
struct Bounds {
    /// So many are copied at a time. Few are copied again and again, and many keep the disk from the
    /// writer for long.
    copied: i64,
    /// The log restarts beyond this length.
    restart: i64,
    /// Beyond this length, operators are told.
    warn: i64,
}

const BOUNDS: Bounds = Bounds {
    copied: 4_000,
    restart: 16_000,
    warn: 65_536,
};
const PAGE_BYTES: i64 = 4_096;
/// A log that restarts is cut to this length. The writer does that in a commit, and a file system that tells its disk of
/// each block that is free keeps it waiting for up to half a second. So a log of the usual length is never cut.
pub const CUT_TO_BYTES: i64 = BOUNDS.warn * PAGE_BYTES;

/// Who may write to the log: the writer, or the checkpoint that restarts it. They take turns, so
/// that a writer without a pause does not keep the other out.
#[derive(Default)]
pub struct Turns {
    next: Mutex<()>,
    writing: Mutex<()>,
}

impl Turns {
    pub fn take(&self) -> MutexGuard<'_, ()> {
        let _next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The length of the log, and how much of it is in the database file, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Log {
    pages: i64,
    copied: i64,
}

pub struct Checkpoints {
    connection: Connection,
    readers: Arc<Readers>,
    turns: Arc<Turns>,
    bounds: Bounds,
    /// Not before this time is the log restarted.
    restart_from: Instant,
    warned: Option<Instant>,
}

impl Checkpoints {
    pub fn new(
        connection: Connection,
        readers: Arc<Readers>,
        turns: Arc<Turns>,
    ) -> Result<Self, StoreError> {
        connection.busy_timeout(WAIT_FOR_READERS).map_err(error)?;
        Ok(Self {
            connection,
            readers,
            turns,
            bounds: BOUNDS,
            restart_from: Instant::now(),
            warned: None,
        })
    }

    /// Runs until the writer has ended. What is left in the log then, SQLite copies when the last
    /// connection is closed.
    pub fn run(mut self, commits: &Receiver<()>) {
        while commits.recv().is_ok() {
            if !self.wait_until_due(commits) {
                return;
            }
            if let Err(error) = self.pass() {
                tracing::warn!(%error, "the write-ahead log cannot be copied into the database file");
                // Meanwhile the log grows, and commits go on.
                if wait(commits, RETRY_AFTER).is_none() {
                    return;
                }
            }
        }
    }

    /// Waits after a commit until there is enough to copy. False once the writer has ended.
    fn wait_until_due(&self, commits: &Receiver<()>) -> bool {
        let since = Instant::now();
        loop {
            let Some(()) = wait(commits, LOOK_EVERY) else {
                return false;
            };
            let due = |log: Log| log.pages - log.copied >= self.bounds.copied;
            if since.elapsed() >= COPY_WITHIN || self.checkpoint("NOOP").is_ok_and(due) {
                return true;
            }
        }
    }

    /// Copies what is committed, and restarts the log if it is long.
    fn pass(&mut self) -> Result<(), StoreError> {
        let begun = Instant::now();
        let mut log = self.checkpoint("PASSIVE")?;
        histogram!("legwork_checkpoint_seconds").record(begun.elapsed());
        if log.pages >= self.bounds.restart && begun >= self.restart_from {
            log = self.restart(log)?;
        }
        gauge!("legwork_wal_bytes").set((log.pages * PAGE_BYTES) as f64);
        self.warn(log);
        Ok(())
    }

    fn restart(&mut self, log: Log) -> Result<Log, StoreError> {
        let held_back = log.copied < log.pages;
        let restarted = if held_back { None } else { self.try_restart()? };
        if restarted.is_none() {
            self.restart_from = Instant::now() + RETRY_AFTER;
        }
        Ok(restarted.unwrap_or(log))
    }

    /// The writer waits meanwhile, so as little as possible is left to copy. `None` if a reader needs
    /// the log.
    fn try_restart(&self) -> Result<Option<Log>, StoreError> {
        // What was written during the last checkpoint.
        self.checkpoint("PASSIVE")?;
        let _turn = self.turns.take();
        let log = self.checkpoint("PASSIVE")?;
        // Readers that are idle keep their snapshots until the next commit. There is none now.
        self.readers.end_idle();
        let restarted = log.copied == log.pages && self.is_done("RESTART")?;
        Ok(restarted.then_some(Log {
            pages: 0,
            copied: 0,
        }))
    }

    fn warn(&mut self, log: Log) {
        let due = self.warned.is_none_or(|at| at.elapsed() >= WARN_EVERY);
        if log.pages >= self.bounds.warn && due {
            self.warned = Some(Instant::now());
            let megabytes = log.pages * PAGE_BYTES / 1_000_000;
            tracing::warn!(
                megabytes,
                "the write-ahead log grows: a long read, such as a backup, still needs it"
            );
        }
    }

    fn checkpoint(&self, mode: &str) -> Result<Log, StoreError> {
        self.pragma(mode).map(|(_, log)| log)
    }

    fn is_done(&self, mode: &str) -> Result<bool, StoreError> {
        self.pragma(mode).map(|(busy, _)| !busy)
    }

    /// Whether somebody was in the way, and the log afterwards.
    fn pragma(&self, mode: &str) -> Result<(bool, Log), StoreError> {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        let mut statement = self.connection.prepare_cached(&sql).map_err(error)?;
        let row = statement.query_row([], |row| {
            let log = Log {
                pages: row.get(1)?,
                copied: row.get(2)?,
            };
            Ok((row.get(0)?, log))
        });
        row.map_err(error)
    }
}

/// `None` once the writer has ended.
fn wait(commits: &Receiver<()>, time: Duration) -> Option<()> {
    std::thread::sleep(time);
    match commits.try_recv() {
        Err(TryRecvError::Disconnected) => None,
        Ok(()) | Err(TryRecvError::Empty) => Some(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::sqlite::marker::Marker;
    use crate::store::engine::sqlite::{connect, connect_to_read, prepare_database};
    use crossbeam_channel::bounded;
    use std::path::PathBuf;

    struct Bed {
        _folder: tempfile::TempDir,
        file: PathBuf,
        writing: Connection,
        checkpoints: Checkpoints,
    }

    /// The log restarts after 50 pages.
    fn bed() -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.db");
        let writing = connect(&file).unwrap();
        prepare_database(&writing).unwrap();
        writing.execute_batch("CREATE TABLE t (bytes)").unwrap();
        let readers = Arc::new(Readers::new(Marker::open(&file).unwrap()));
        let reading = connect(&file).unwrap();
        let mut checkpoints = Checkpoints::new(reading, readers, Arc::default()).unwrap();
        checkpoints.bounds.restart = 50;
        Bed {
            _folder: folder,
            file,
            writing,
            checkpoints,
        }
    }

    impl Bed {
        /// Commits a hundred times, a page or more each.
        fn fill(&self) {
            for _ in 0..100 {
                self.insert();
            }
        }

        fn insert(&self) {
            let sql = "INSERT INTO t VALUES (zeroblob(4000))";
            self.writing.execute(sql, []).unwrap();
        }

        fn log(&self) -> Log {
            self.checkpoints.checkpoint("NOOP").unwrap()
        }

        /// Whether the next commit begins the log anew.
        fn has_restarted(&self) -> bool {
            self.insert();
            self.log().pages < 10
        }

        fn wal_bytes(&self) -> u64 {
            let wal = self.file.with_extension("db-wal");
            std::fs::metadata(wal).unwrap().len()
        }
    }

    const ONE: &str = "SELECT COUNT(*) FROM t";

    fn count(connection: &Connection) -> i64 {
        connection.query_row(ONE, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn commits_copy_nothing_and_a_checkpoint_copies_all() {
        let mut bed = bed();
        bed.checkpoints.bounds.restart = i64::MAX;
        for _ in 0..20 {
            bed.fill();
        }
        let log = bed.log();
        assert!(log.pages >= 2_000, "{log:?}");
        assert_eq!(log.copied, 0);
        bed.checkpoints.pass().unwrap();
        let log = bed.log();
        assert_eq!(log.copied, log.pages);
    }

    #[test]
    fn a_long_log_is_written_from_its_start_again() {
        let mut bed = bed();
        bed.fill();
        let bytes = bed.wal_bytes();
        for _ in 0..5 {
            bed.checkpoints.pass().unwrap();
            assert!(bed.has_restarted());
            bed.fill();
        }
        assert!(bed.wal_bytes() <= bytes + bytes / 10);
        assert_eq!(count(&bed.writing), 605);
    }

    #[test]
    fn a_log_of_the_usual_length_is_not_cut() {
        let mut bed = bed();
        let twice_the_usual = 2 * BOUNDS.restart * PAGE_BYTES;
        let sql = format!("INSERT INTO t VALUES (zeroblob({twice_the_usual}))");
        bed.writing.execute(&sql, []).unwrap();
        let bytes = bed.wal_bytes();
        bed.checkpoints.pass().unwrap();
        assert!(bed.has_restarted());
        assert_eq!(bed.wal_bytes(), bytes);
    }

    #[test]
    fn a_reader_that_needs_the_log_keeps_it_and_stops_nobody() {
        let mut bed = bed();
        let reader = connect_to_read(&bed.file).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        assert_eq!(count(&reader), 0);
        bed.fill();
        bed.checkpoints.pass().unwrap();
        let held = bed.log();
        assert!(held.copied < held.pages, "{held:?}");
        bed.fill();
        assert_eq!((count(&reader), count(&bed.writing)), (0, 200));
        reader.execute_batch("COMMIT").unwrap();
        bed.checkpoints.restart_from = Instant::now();
        bed.checkpoints.pass().unwrap();
        assert!(bed.has_restarted());
    }

    #[test]
    fn idle_readers_do_not_keep_the_log() {
        let mut bed = bed();
        bed.fill();
        let connect = || connect_to_read(&bed.file);
        let mut seen = 0;
        let readers = &bed.checkpoints.readers;
        readers.with(&connect, &mut |c| seen = count(c)).unwrap();
        assert_eq!(seen, 100);
        bed.checkpoints.pass().unwrap();
        assert!(bed.has_restarted());
    }

    #[test]
    fn the_writer_gets_its_turn_back() {
        let bed = bed();
        let turns = bed.checkpoints.turns.clone();
        let turn = turns.take();
        std::thread::scope(|scope| {
            let restarted = scope.spawn(|| {
                let _turn = turns.take();
            });
            drop(turn);
            restarted.join().unwrap();
        });
        drop(turns.take());
    }

    #[test]
    fn little_is_copied_too_and_the_thread_ends_with_the_writer() {
        let bed = bed();
        bed.fill();
        let (commits, committed) = bounded(1);
        commits.send(()).unwrap();
        let outside = connect(&bed.file).unwrap();
        let thread = std::thread::spawn(move || bed.checkpoints.run(&committed));
        let log = || {
            let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
            let sql = "PRAGMA wal_checkpoint(NOOP)";
            outside.query_row(sql, [], row).unwrap()
        };
        let begun = Instant::now();
        while log().0 != log().1 {
            assert!(begun.elapsed() < Duration::from_secs(60), "never copied");
            std::thread::yield_now();
        }
        drop(commits);
        thread.join().unwrap();
    }
}
