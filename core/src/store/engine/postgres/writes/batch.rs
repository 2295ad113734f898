//! Runs a batch: transactions of several lanes in one transaction of the database.
//!
//! They run one after the other and see each other's writes. One commit answers all. A transaction that
//! is refused before it has sent a write leaves no trace. One that would have to wait for a lock leaves
//! the batch and is run alone. When a statement fails, or when a transaction is refused after it has
//! sent a write, the batch is rolled back and run again without the one that was the cause. If that
//! does not help, each is run alone.

use std::time::{Duration, Instant};

use metrics::{counter, histogram};

use crate::store::engine::postgres::session::{Ended, Session};
use crate::store::engine::postgres::writes::queues::Queues;
use crate::store::engine::work::{self, Lane, Queued};
use crate::store::engine::{StoreError, Tx};
use crate::store::locked::Locked;

/// The most transactions of one lane in a batch.
const MOST_OF_A_LANE: usize = 64;
/// In a batch that is older, only the first transaction of each lane is still run. Those in it wait for
/// its commit, and so do others for its locks.
const LONGEST: Duration = Duration::from_millis(10);
/// How often a batch is run.
const TRIES: u32 = 3;

#[derive(Default)]
pub struct Batch {
    /// In the order in which they ran.
    parts: Vec<Queued>,
    /// They have left, and wait for nobody but each other.
    pub leaving: Vec<Queued>,
    /// Those that were the cause of a failure.
    pub guilty: Vec<Queued>,
    /// The latest of all. None if one of them has none.
    deadline: Option<Instant>,
    /// What those that stay have locked.
    locked: Locked,
}

/// What became of a batch.
pub enum Outcome {
    /// All parts are committed.
    Committed,
    /// Nothing is committed. Each part has to be run alone.
    Dissolved,
    /// The connection was lost. Nothing is committed.
    Lost(StoreError),
    /// The connection was lost, and nobody knows.
    Unknown(StoreError),
}

impl Batch {
    pub fn into_parts(self) -> (Vec<Queued>, Vec<Queued>, Vec<Queued>) {
        (self.parts, self.leaving, self.guilty)
    }

    /// Runs what waits in these lanes, and commits.
    pub fn run(&mut self, session: &mut Session, queues: &Queues, lanes: &[Lane]) -> Outcome {
        let mut ran = self.first_try(session, queues, lanes);
        for _ in 1..TRIES {
            match ran {
                Err(_) if session.is_connected() => {
                    counter!("legwork_batches_dissolved_total").increment(1);
                    ran = self.try_again(session);
                }
                _ => break,
            }
        }
        match ran {
            Ok(()) => {
                if !self.parts.is_empty() {
                    histogram!("legwork_writer_batch_size").record(self.parts.len() as f64);
                }
                Outcome::Committed
            }
            Err(error) if session.lost_before_commit() => Outcome::Lost(error),
            Err(error) if !session.is_connected() => Outcome::Unknown(error),
            Err(_) => Outcome::Dissolved,
        }
    }

    fn first_try(
        &mut self,
        session: &mut Session,
        queues: &Queues,
        lanes: &[Lane],
    ) -> Result<(), StoreError> {
        session.open_batch(false)?;
        let begun = Instant::now();
        for lane in lanes {
            for number in 0..MOST_OF_A_LANE {
                if number > 0 && begun.elapsed() > LONGEST {
                    break;
                }
                let Some(queued) = queues.take_from(*lane) else {
                    break;
                };
                if let Some(queued) = queued.taken() {
                    self.add(session, queued)?;
                }
            }
        }
        session.commit()
    }

    /// Runs those that are left once more.
    fn try_again(&mut self, session: &mut Session) -> Result<(), StoreError> {
        session.open_batch(true)?;
        self.locked = Locked::default();
        let mut parts = std::mem::take(&mut self.parts).into_iter();
        while let Some(queued) = parts.next() {
            if let Err(error) = self.add(session, queued) {
                self.parts.extend(parts);
                self.expel_others();
                return Err(error);
            }
        }
        session.commit()
    }

    /// If the last one had to wait for a lock of its account, all others of the account would have to.
    fn expel_others(&mut self) {
        let lane = self.guilty.last().and_then(|guilty| guilty.lane);
        let of_lane = |part: &mut Queued| part.lane == lane;
        self.guilty.extend(self.parts.extract_if(.., of_lane));
    }

    /// Runs one. An error means that the batch is rolled back.
    fn add(&mut self, session: &mut Session, mut queued: Queued) -> Result<(), StoreError> {
        self.deadline = match self.parts.is_empty() {
            true => queued.deadline,
            false => self.deadline.zip(queued.deadline).map(|(a, b)| a.max(b)),
        };
        session.begin_part(self.deadline);
        let mut tx = Tx::postgres(session);
        tx.locked = self.locked.for_next();
        let outcome = queued.work.run(&mut tx);
        let locked = std::mem::take(&mut tx.locked);
        let error = match session.end_part(outcome) {
            Ended::Stays => {
                if outcome == work::Outcome::Commit {
                    self.locked = locked;
                }
                self.parts.push(queued);
                return Ok(());
            }
            Ended::Leaves => {
                self.leaving.push(queued);
                return Ok(());
            }
            // A lost connection is nobody's fault.
            Ended::Spoils(error) if session.is_connected() => {
                self.guilty.push(queued);
                self.expel_others();
                error
            }
            Ended::Spoils(error) | Ended::SpoiledBySomeone(error) => {
                self.parts.push(queued);
                error
            }
        };
        session.roll_back();
        Err(error)
    }
}
