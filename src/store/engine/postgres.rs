//! PostgreSQL: threads that each own one connection and run transactions on it.
//!
//! Each thread has a runtime of its own for its connection, so nothing is handed between threads.
//! `BEGIN` is sent with the first statement, deferred writes with the statement after them, and the
//! last of these with `COMMIT`: a typical transaction is two round trips.

mod connector;
mod session;

use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use metrics::{counter, gauge};

use crate::store::engine::migrate::{self, Migration};
use crate::store::engine::postgres::connector::Connector;
use crate::store::engine::work::{Outcome, Work};
use crate::store::engine::{StoreError, Tx};

pub use session::{Lock, Session};

/// How many transactions may wait for a connection. More are refused.
const QUEUE: usize = 20_000;
/// How often a transaction that collides with others is tried.
const TRIES: u32 = 8;

/// The kinds of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All or nothing, retried on collision.
    Write,
    /// Each statement sees what is committed when it runs.
    Read,
    /// All statements see the same snapshot.
    Snapshot,
}

pub struct Engine {
    queue: Option<Sender<(Box<dyn Work>, Mode)>>,
    threads: Vec<JoinHandle<()>>,
}

impl Engine {
    pub fn open(
        url: &str,
        connections: usize,
        migrations: &'static [Migration],
    ) -> Result<Self, StoreError> {
        let connector = Connector::new(url)?;
        let mut first = Session::new(connector.clone())?;
        migrate_under_lock(&mut first, migrations)?;
        let (queue, waiting) = bounded(QUEUE);
        let mut threads = Vec::new();
        let mut sessions = vec![first];
        for _ in 1..connections.max(1) {
            sessions.push(Session::new(connector.clone())?);
        }
        gauge!("legwork_pool_connections").set(sessions.len() as f64);
        for session in sessions {
            let waiting = waiting.clone();
            let thread = std::thread::Builder::new()
                .name("postgres".to_owned())
                .spawn(move || serve(session, &waiting))
                .map_err(|e| StoreError::Unavailable(e.to_string()))?;
            threads.push(thread);
        }
        Ok(Self {
            queue: Some(queue),
            threads,
        })
    }

    pub fn run(&self, work: Box<dyn Work>, mode: Mode) -> Result<(), StoreError> {
        let Some(queue) = &self.queue else {
            return Err(StoreError::Unavailable("the store is shutting down".into()));
        };
        queue
            .try_send((work, mode))
            .map_err(|refused| match refused {
                TrySendError::Full(_) => {
                    StoreError::Unavailable("too many transactions are waiting".into())
                }
                TrySendError::Disconnected(_) => {
                    StoreError::Unavailable("the store has stopped".into())
                }
            })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn serve(mut session: Session, queue: &Receiver<(Box<dyn Work>, Mode)>) {
    while let Ok((mut work, mode)) = queue.recv() {
        gauge!("legwork_pool_queue").set(queue.len() as f64);
        gauge!("legwork_pool_busy").increment(1.0);
        let committed = transact(&mut session, work.as_mut(), mode);
        work.answer(committed);
        session.finish_reading();
        gauge!("legwork_pool_busy").decrement(1.0);
    }
}

/// Runs a transaction until it is committed or has failed for good.
fn transact(session: &mut Session, work: &mut dyn Work, mode: Mode) -> Result<(), StoreError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let error = match try_once(session, work, mode) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let again = match &error {
            StoreError::Collision(_) => tries < TRIES,
            // The connection had been lost in the pool. Nothing was committed; a new one may work.
            StoreError::Unavailable(_) => tries == 1 && session.lost_before_commit(),
            _ => false,
        };
        if !again {
            return Err(error);
        }
        counter!("legwork_pool_retries_total").increment(1);
        if matches!(error, StoreError::Collision(_)) {
            std::thread::sleep(pause(tries));
        }
    }
}

/// A random pause of up to 2, 4, 8 ... milliseconds, so that they do not collide again.
fn pause(tries: u32) -> Duration {
    let random = u64::from(u16::from_le_bytes(crate::ambient::random()));
    Duration::from_micros((1_000 << tries.min(6)) * random / u64::from(u16::MAX))
}

fn try_once(session: &mut Session, work: &mut dyn Work, mode: Mode) -> Result<(), StoreError> {
    session.open(mode)?;
    let outcome = work.run(&mut Tx::postgres(session));
    if let Some(error) = session.take_failure() {
        session.roll_back();
        return Err(error);
    }
    match (mode, outcome) {
        (Mode::Write, Outcome::Commit) => session.commit(),
        (Mode::Write, Outcome::RollBack) => {
            session.roll_back();
            Ok(())
        }
        (Mode::Read | Mode::Snapshot, _) => Ok(()),
    }
}

fn migrate_under_lock(
    session: &mut Session,
    migrations: &'static [Migration],
) -> Result<(), StoreError> {
    session.open(Mode::Read)?;
    // Two servers that start at the same time may both try to create the table. The one that fails
    // finds it at the second try. The row in it is the lock.
    session.batch(SETUP).or_else(|_| session.batch(SETUP))?;
    session.batch("BEGIN; SELECT id FROM migration_lock WHERE id = 1 FOR UPDATE")?;
    let migrated = migrate::run(session, migrations).and_then(|()| session.batch("COMMIT"));
    if migrated.is_err() {
        let _ = session.batch("ROLLBACK");
    }
    migrated
}

pub fn pending_migrations(url: &str, migrations: &[Migration]) -> Result<usize, StoreError> {
    let mut session = Session::new(Connector::new(url)?)?;
    session.open(Mode::Read)?;
    migrate::pending(&mut Tx::postgres(&mut session), migrations)
}

const SETUP: &str = "CREATE TABLE IF NOT EXISTS migration_lock (id BIGINT NOT NULL PRIMARY KEY);
    INSERT INTO migration_lock (id) VALUES (1) ON CONFLICT (id) DO NOTHING";

impl migrate::Schema for Session {
    fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        Session::batch(self, sql)
    }

    fn tx(&mut self) -> Tx<'_> {
        Tx::postgres(self)
    }
}

/// The error with its cause, which tokio-postgres keeps in `source`.
pub fn describe(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
