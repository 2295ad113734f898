//! PostgreSQL: threads that each own one connection and run transactions on it.
//!
//! A thread drives its connection itself (a runtime of its own, no hand-over to other threads).
//! `BEGIN` travels with the first statement, inserts travel with the statement after them, and the
//! last of them with `COMMIT`: a typical transaction is two round trips.

mod connector;
mod session;

use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use metrics::{counter, gauge};

use crate::store::engine::migrate::{self, Migration};
use crate::store::engine::postgres::connector::Connector;
use crate::store::engine::work::{Verdict, Work};
use crate::store::engine::{StoreError, Tx};

pub use session::{Lock, Session};

/// Transactions that may wait for a connection before new ones are turned away.
const QUEUE: usize = 20_000;
/// How often a transaction is tried that keeps colliding with others.
const TRIES: u32 = 8;

/// What kind of transaction is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All or nothing, retried on collision.
    Write,
    /// Each statement sees what is committed when it runs.
    Read,
    /// All statements see one moment.
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
                    StoreError::Unavailable("too many transactions wait".into())
                }
                TrySendError::Disconnected(_) => {
                    StoreError::Unavailable("the store stopped".into())
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
        let durable = transact(&mut session, work.as_mut(), mode);
        work.answer(durable);
        session.finish_reading();
        gauge!("legwork_pool_busy").decrement(1.0);
    }
}

/// Runs a transaction until it is committed, refused, or hopeless.
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
            // A connection that had died in the pool: nothing was committed, a fresh one may do.
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

/// Spreads colliding transactions apart: up to 1, 2, 4 ... milliseconds.
fn pause(tries: u32) -> Duration {
    let random = u64::from(u16::from_le_bytes(crate::ambient::random()));
    Duration::from_micros((1_000 << tries.min(6)) * random / u64::from(u16::MAX))
}

fn try_once(session: &mut Session, work: &mut dyn Work, mode: Mode) -> Result<(), StoreError> {
    session.open(mode)?;
    let verdict = work.run(&mut Tx::postgres(session));
    if let Some(error) = session.take_failure() {
        session.roll_back();
        return Err(error);
    }
    match (mode, verdict) {
        (Mode::Write, Verdict::Keep) => session.commit(),
        (Mode::Write, Verdict::Undo) => {
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
    // Two servers that start at once may both find no table and collide in the catalogue: the
    // loser finds it at the second try. The row, once there, is the lock.
    session.batch(SETUP).or_else(|_| session.batch(SETUP))?;
    session.batch("BEGIN; SELECT id FROM migration_lock WHERE id = 1 FOR UPDATE")?;
    let migrated = migrate::run(session, migrations).and_then(|()| session.batch("COMMIT"));
    if migrated.is_err() {
        let _ = session.batch("ROLLBACK");
    }
    migrated
}

pub fn lacking(url: &str, migrations: &[Migration]) -> Result<usize, StoreError> {
    let mut session = Session::new(Connector::new(url)?)?;
    session.open(Mode::Read)?;
    migrate::lacking(&mut Tx::postgres(&mut session), migrations)
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

/// The error with its cause: tokio-postgres keeps the useful half in `source`.
pub fn describe(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
