//! PostgreSQL: threads that each own one connection and run transactions on it.
//!
//! Writes of which the account is known are run in batches: many in one transaction of the database,
//! with one commit. Everything else is run alone, and so is what has to wait for a lock.
//!
//! Each thread has a runtime of its own for its connection, so nothing is handed between threads.
//! `BEGIN` is sent with the first statement, deferred writes with the statement after them, and the
//! last of these with `COMMIT`: a typical transaction is two round trips.

mod churn;
mod connect;
mod errors;
mod indexes;
mod migrating;
mod patience;
mod pipeline;
mod pool;
mod reads;
mod session;
mod target;
mod writes;

use std::time::{Duration, Instant};

use metrics::counter;

use crate::store::engine::migrate::{self, Migration};
use crate::store::engine::postgres::connect::connector::Connector;
use crate::store::engine::postgres::writes::queues::Turn;
use crate::store::engine::work::{Outcome, Queued, Work};
use crate::store::engine::{StoreError, Tx};

pub use connect::connector::session_settings;
pub use connect::server::DatabaseServer;
pub use errors::describe;
pub use pool::Engine;
pub use reads::Readers;
pub use session::{Lock, Session};
pub use target::Target;
pub use writes::deferred::{OneOf, Order};

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

/// Runs a transaction until it is committed or has failed for good.
/// `reconnects` says whether it may connect anew for that.
fn transact(
    session: &mut Session,
    queued: &mut Queued,
    mode: Mode,
    turn: &mut Turn<'_>,
    reconnects: bool,
) -> Result<(), StoreError> {
    let (work, deadline) = (&mut queued.work, queued.deadline);
    let mut tries = 0;
    loop {
        tries += 1;
        let connected = session.is_connected();
        let error = match try_once(session, work, mode, turn, deadline) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let timely = deadline.is_none_or(|at| Instant::now() < at);
        let again = match &error {
            StoreError::Collision(_) => tries < TRIES && timely,
            // The connection had been lost in the pool. Nothing was committed; a new one may work.
            StoreError::Unavailable(_) => {
                reconnects && connected && timely && tries == 1 && session.lost_before_commit()
            }
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

fn try_once(
    session: &mut Session,
    work: &mut Work,
    mode: Mode,
    turn: &mut Turn<'_>,
    deadline: Option<Instant>,
) -> Result<(), StoreError> {
    // If there is no connection, an earlier try is no answer.
    work.forget();
    session.open(mode, deadline)?;
    let outcome = work.run(&mut Tx::postgres(session));
    if let Some(error) = session.take_failure() {
        session.roll_back();
        return Err(error);
    }
    match (mode, outcome) {
        (Mode::Write, Outcome::Commit) => {
            turn.end();
            session.commit()
        }
        (Mode::Write, Outcome::RollBack) => {
            session.roll_back();
            Ok(())
        }
        (Mode::Read | Mode::Snapshot, _) => Ok(()),
    }
}

pub fn pending_migrations(url: &str, migrations: &[Migration]) -> Result<usize, StoreError> {
    let mut session = Session::new(Connector::new(url)?)?;
    session.open(Mode::Read, None)?;
    let mut tx = Tx::postgres(&mut session);
    migrating::expect_utf8(&mut tx)?;
    migrate::pending(&mut tx, migrations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::Waiting;
    use crate::store::engine::postgres::writes::queues::Queues;
    use crate::store::engine::work::{Fault, Function};

    /// It was refused for what another transaction of its batch had written, and which was never committed.
    #[test]
    fn who_cannot_be_run_again_is_not_answered_by_an_earlier_try() {
        let refuse = |_: &mut Tx<'_>| Err::<(), _>(StoreError::Overloaded);
        let (work, mut answer) = Work::new(Function::new(refuse));
        let mut queued = Queued::new(work, &Waiting::begin());
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        queued.work.run(&mut Tx::sqlite(&connection));
        let nobody = Connector::new("postgres://legwork@127.0.0.1:1/legwork").unwrap();
        let mut session = Session::new(nobody).unwrap();
        let queues = Queues::default();
        let (mode, mut turn) = (Mode::Write, queues.turn(None));
        let error = transact(&mut session, &mut queued, mode, &mut turn, false).unwrap_err();
        queued.work.answer(Err(error));
        let answered = answer.try_recv().unwrap();
        assert!(matches!(
            answered,
            Err(Fault::Store(StoreError::Unavailable(_)))
        ));
    }
}
