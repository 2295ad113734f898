//! The writer thread: group commit.
//!
//! It runs the waiting transactions in one database transaction and commits once (one fsync for all).
//! One that fails is rolled back alone. Nothing is answered before it is durable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use metrics::histogram;
use rusqlite::Connection;

use crate::store::engine::sqlite::checkpoints::Turns;
use crate::store::engine::sqlite::execute_cached;
use crate::store::engine::sqlite::readers::Readers;
use crate::store::engine::work::{Outcome, Queued, Work};
use crate::store::engine::{StoreError, Tx};

/// The most transactions in one commit.
const MOST: usize = 512;
/// After this time a batch takes no more transactions: bounds how long its first one waits for its
/// last.
const TAKES_FOR: Duration = Duration::from_millis(8);

pub struct Writer {
    connection: Connection,
    queue: Receiver<Queued>,
    readers: Arc<Readers>,
    turns: Arc<Turns>,
    /// Tells the checkpoints of a commit.
    commits: Sender<()>,
    takes_for: Duration,
}

impl Writer {
    pub fn new(
        mut connection: Connection,
        queue: Receiver<Queued>,
        readers: Arc<Readers>,
        turns: Arc<Turns>,
        commits: Sender<()>,
    ) -> Result<Self, StoreError> {
        readers.watch(&mut connection)?;
        Ok(Self {
            connection,
            queue,
            readers,
            turns,
            commits,
            takes_for: TAKES_FOR,
        })
    }

    pub fn run(self) {
        while self.write_next().is_some() {}
    }

    /// Waits for a transaction and writes it, together with others that wait. Returns how many they
    /// were, or `None` once the store is closed.
    fn write_next(&self) -> Option<usize> {
        let mut batch = Vec::with_capacity(64);
        batch.extend(self.queue.recv().ok()?.taken());
        if batch.is_empty() {
            return Some(0);
        }
        let turn = self.turns.take();
        let committed = self.write(&mut batch);
        self.readers.committed(&self.connection);
        drop(turn);
        let _ = self.commits.try_send(());
        let size = batch.len();
        histogram!("legwork_writer_batch_size").record(size as f64);
        for queued in batch {
            match &committed {
                Ok(()) => queued.work.answer(Ok(())),
                Err(error) => queued.refuse(error.clone()),
            }
        }
        Some(size)
    }

    /// Runs a batch in one database transaction and commits it: all of it is kept, or nothing.
    fn write(&self, batch: &mut Vec<Queued>) -> Result<(), StoreError> {
        if let Err(error) = self.execute("BEGIN IMMEDIATE") {
            // It took long to find out, so all who wait share the answer.
            let waiting = self.queue.try_iter().take(MOST - 1);
            batch.extend(waiting.filter_map(Queued::taken));
            return Err(error);
        }
        let written = self.run_batch(batch).and_then(|()| self.execute("COMMIT"));
        if written.is_err() && !self.connection.is_autocommit() {
            let _ = self.execute("ROLLBACK");
        }
        written
    }

    /// Runs the first transaction and those that wait, until the batch is full or has taken long.
    ///
    /// One that fails is rolled back alone. Nearly always it has written nothing, so the batch runs
    /// without savepoints, for which SQLite copies every page it touches. If one fails after a write,
    /// the batch is run again with a savepoint around each, and trusts nothing that was read before.
    fn run_batch(&self, batch: &mut Vec<Queued>) -> Result<(), StoreError> {
        let begun = Instant::now();
        let mut next = 0;
        while let Some(queued) = batch.get_mut(next) {
            let before = self.connection.total_changes();
            let mut tx = Tx::sqlite(&self.connection);
            let outcome = queued.work.run(&mut tx);
            self.still_open(tx.failure)?;
            if outcome == Outcome::RollBack && self.connection.total_changes() != before {
                self.execute("ROLLBACK")?;
                self.execute("BEGIN IMMEDIATE")?;
                return batch
                    .iter_mut()
                    .try_for_each(|queued| self.under_savepoint(&mut queued.work));
            }
            next += 1;
            if batch.len() < MOST && begun.elapsed() < self.takes_for {
                batch.extend(self.queue.try_iter().find_map(Queued::taken));
            }
        }
        Ok(())
    }

    fn under_savepoint(&self, work: &mut Work) -> Result<(), StoreError> {
        self.execute("SAVEPOINT one")?;
        let mut tx = Tx::sqlite(&self.connection);
        tx.careful = true;
        let outcome = work.run(&mut tx);
        self.still_open(tx.failure)?;
        if outcome == Outcome::RollBack {
            self.execute("ROLLBACK TO one")?;
        }
        self.execute("RELEASE one")
    }

    /// On a full disk or an I/O error, SQLite rolls back the whole transaction by itself.
    fn still_open(&self, failure: Option<StoreError>) -> Result<(), StoreError> {
        if self.connection.is_autocommit() {
            let unknown = || StoreError::Unavailable("SQLite rolled back the transaction".into());
            return Err(failure.unwrap_or_else(unknown));
        }
        Ok(())
    }

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        execute_cached(&self.connection, sql)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Statement;
    use crate::store::engine::deadline::Waiting;
    use crate::store::engine::sqlite::connect;
    use crate::store::engine::sqlite::marker::Marker;
    use crate::store::engine::work::{Fault, Function};
    use crossbeam_channel::bounded;

    const LONG: Duration = Duration::from_secs(3_600);

    /// The sizes of the batches in which ten waiting transactions are written.
    fn batches(takes_for: Duration) -> Vec<usize> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.db");
        let (waiting, queue) = bounded(10);
        let mut answers = Vec::new();
        for _ in 0..10 {
            let (work, answer) = Work::new(Function::new(|_| Ok::<_, StoreError>(())));
            answers.push(answer);
            let sent = waiting.send(Queued::new(work, &Waiting::begin()));
            assert!(sent.is_ok());
        }
        drop(waiting);
        let readers = Arc::new(Readers::new(Marker::open(&file).unwrap()));
        let (commits, _committed) = bounded(1);
        let connection = connect(&file).unwrap();
        let writer = Writer {
            takes_for,
            ..Writer::new(connection, queue, readers, Arc::default(), commits).unwrap()
        };
        let sizes = std::iter::from_fn(|| writer.write_next()).collect();
        for mut answer in answers {
            assert!(answer.try_recv().unwrap().is_ok());
        }
        sizes
    }

    /// Two of them: one writes what SQLite refuses at the end, and one is refused for what it saw of that.
    #[test]
    fn nobody_is_answered_by_what_a_failed_batch_had_written() {
        const RULES: &str = "PRAGMA foreign_keys = ON;
            CREATE TABLE places (id BIGINT PRIMARY KEY);
            CREATE TABLE taken (id BIGINT REFERENCES places (id) DEFERRABLE INITIALLY DEFERRED);";
        const TAKE: Statement = Statement::new("INSERT INTO taken (id) VALUES (1)");
        const COUNT: Statement = Statement::new("SELECT COUNT(*) FROM taken");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.db");
        let connection = connect(&file).unwrap();
        connection.execute_batch(RULES).unwrap();
        let (waiting, queue) = bounded(2);
        let take = Function::new(|tx: &mut Tx<'_>| tx.execute(TAKE, &[]));
        let full = Function::new(|tx: &mut Tx<'_>| match tx.optional::<i64>(COUNT, &[])? {
            Some(1) => Err(StoreError::Overloaded),
            _ => Ok(()),
        });
        let mut answers = Vec::new();
        for function in [take, full] {
            let (work, answer) = Work::new(function);
            answers.push(answer);
            assert!(waiting.send(Queued::new(work, &Waiting::begin())).is_ok());
        }
        let readers = Arc::new(Readers::new(Marker::open(&file).unwrap()));
        let (commits, _committed) = bounded(1);
        let writer = Writer::new(connection, queue, readers, Arc::default(), commits).unwrap();
        assert_eq!(writer.write_next(), Some(2));
        for mut answer in answers {
            let answer = answer.try_recv().unwrap();
            let Err(Fault::Store(error)) = answer else {
                panic!("an answer of the function itself");
            };
            assert!(error.to_string().contains("FOREIGN KEY"), "{error}");
        }
    }

    #[test]
    fn a_batch_takes_what_waits() {
        assert_eq!(batches(LONG), [10]);
    }

    #[test]
    fn a_batch_that_has_taken_long_is_committed() {
        assert_eq!(batches(Duration::ZERO), [1; 10]);
    }
}
