//! Batches: transactions that share one transaction of the database.

use std::time::Instant;

use super::{Lock, Session, Variant};
use crate::store::engine::postgres::Mode;
use crate::store::engine::postgres::pipeline::{Answer, Step};
use crate::store::engine::postgres::writes::deferred::{Deferred, Expected, OneOf, Order};
use crate::store::engine::postgres::writes::shape::only_reads;
use crate::store::engine::work::Outcome;
use crate::store::engine::{Statement, StoreError, Value};

/// Begins a batch. It holds the locks of several transactions, so it must not wait long for another
/// one: less than it takes the server to look for a deadlock.
const BEGIN_BATCH: &str = "BEGIN; SET LOCAL lock_timeout = 200";
/// How many deferred writes a batch keeps back; then they are sent.
const MAX_DEFERRED: usize = 2_048;

/// A transaction that shares one in the database with others.
#[derive(Default)]
pub struct Part {
    /// How many of the deferred writes belong to those before it.
    earlier: usize,
    /// It has sent a write.
    wrote: bool,
    /// A statement failed, so the server takes no more of any of them.
    aborted: bool,
    /// The statement that failed may belong to another one.
    shared: bool,
    /// Nothing is kept back for the next one, so that an error has one cause.
    careful: bool,
}

/// How a transaction of a batch ended.
pub enum Ended {
    /// Its writes are kept, or it had none.
    Stays,
    /// It has to wait for somebody, or to be tried again. It has left no trace.
    Leaves,
    /// What it did can only be undone with all that the others did.
    Spoils(StoreError),
    /// The same, but another one may have been the cause.
    SpoiledBySomeone(StoreError),
}

impl Part {
    pub fn fail(&mut self) {
        self.aborted = true;
    }
}

impl Session {
    /// Prepares for a batch. A careful one finds out whose fault an error is.
    pub fn open_batch(&mut self, careful: bool) -> Result<(), StoreError> {
        self.open(Mode::Write, None)?;
        self.opening = Some(BEGIN_BATCH);
        self.part = Some(Part {
            careful,
            ..Part::default()
        });
        Ok(())
    }

    /// Begins the next transaction of a batch. The batch is given up when all are too late.
    pub fn begin_part(&mut self, deadline: Option<Instant>) {
        let careful = self.part.as_ref().is_some_and(|part| part.careful);
        self.deadline = deadline;
        self.part = Some(Part {
            earlier: self.deferred.len(),
            careful,
            ..Part::default()
        });
    }

    pub fn end_part(&mut self, outcome: Outcome) -> Ended {
        let careful = self.part.as_ref().is_some_and(|part| part.careful);
        if careful && outcome == Outcome::Commit && self.failure.is_none() {
            // If it fails, the failure is noted.
            let _ = self.send_all(None, Step::Nothing);
        }
        let failure = self.failure.take();
        let Some(part) = &self.part else {
            return Ended::Stays;
        };
        match (failure, outcome) {
            (None, Outcome::Commit) => Ended::Stays,
            (None, Outcome::RollBack) if part.wrote => {
                let reason = "a transaction was refused after it had written";
                Ended::Spoils(StoreError::Unavailable(reason.into()))
            }
            (Some(error), _) if part.aborted && part.shared => Ended::SpoiledBySomeone(error),
            (Some(error), _) if part.aborted || part.wrote => Ended::Spoils(error),
            (failure, _) => {
                self.deferred.truncate(part.earlier);
                failure.map_or(Ended::Stays, |_| Ended::Leaves)
            }
        }
    }

    /// Whether this is the first try of a batch. What fails later is tried again with care.
    pub fn is_first_try_of_batch(&self) -> bool {
        self.part.as_ref().is_some_and(|part| !part.careful)
    }

    /// Like a query that locks its rows, but waits for nobody: whoever would have to wait leaves the
    /// batch. It holds the locks of others.
    pub(super) fn query_without_waiting(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        one: Option<OneOf<'_>>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let free = self.run(statement, values, Lock::FreeRows, one)?.rows;
        if !free.is_empty() {
            return Ok(free);
        }
        let locked = self.run(statement, values, Lock::None, one)?.rows;
        if locked.is_empty() {
            return Ok(locked);
        }
        let error = StoreError::Collision("another transaction has locked the row".into());
        self.must_retry(error.clone());
        Err(error)
    }

    /// Sends a statement of a batch. The deferred writes go with it only if it may notice them.
    pub(super) fn send_part(
        &mut self,
        statement: Statement,
        one: Option<OneOf<'_>>,
        step: Step<'_>,
    ) -> Result<Answer, StoreError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let overtakes = self.shapes.may_overtake(statement, one, &self.deferred);
        let answer = if overtakes {
            self.send_ahead(step)
        } else {
            self.send_all(Some((statement, one)), step)
        };
        let written = |answer: &Answer| answer.changed > 0 && !only_reads(statement);
        if let (Some(part), Ok(answer)) = (&mut self.part, &answer) {
            part.wrote |= written(answer);
        }
        answer
    }

    fn send_ahead(&mut self, step: Step<'_>) -> Result<Answer, StoreError> {
        let kept = std::mem::take(&mut self.deferred);
        let answer = self.send(step);
        self.deferred = kept;
        answer
    }

    /// Sends what is deferred, and then a step. What neither the statement of the step nor what is sent
    /// before it may notice waits on.
    fn send_all(
        &mut self,
        statement: Option<(Statement, Option<OneOf<'_>>)>,
        step: Step<'_>,
    ) -> Result<Answer, StoreError> {
        let (held, held_earlier) = self.hold_back(statement);
        if let Some(part) = &mut self.part {
            part.wrote |= self.deferred.len() > part.earlier - held_earlier;
        }
        self.merge_deferred()?;
        let answer = self.send(step);
        if let (Some(part), Ok(_)) = (&mut self.part, &answer) {
            part.earlier = held_earlier;
        }
        for write in held {
            self.deferred.push(write);
        }
        answer
    }

    fn hold_back(
        &mut self,
        statement: Option<(Statement, Option<OneOf<'_>>)>,
    ) -> (Vec<Deferred>, usize) {
        match (&self.part, statement) {
            (Some(part), Some(statement)) if !part.careful => {
                let earlier = part.earlier;
                self.deferred
                    .hold_back(earlier, statement, &mut self.shapes)
            }
            _ => (Vec::new(), 0),
        }
    }

    /// Sends what is deferred if it is too much to keep.
    pub(super) fn send_part_if_full(&mut self) -> Result<(), StoreError> {
        if self.deferred.len() < MAX_DEFERRED {
            return Ok(());
        }
        self.send_all(None, Step::Nothing).map(drop)
    }

    /// Writes rows of the same table by one statement.
    pub(super) fn merge_deferred(&mut self) -> Result<(), StoreError> {
        let careful = self.part.as_ref().is_none_or(|part| part.careful);
        if careful || self.deferred.len() < 2 {
            return Ok(());
        }
        let deferred = self.deferred.take();
        let mut merged = Vec::new();
        for mut group in self.shapes.group(deferred) {
            for rows in group.portions() {
                let prepared = match (rows.len(), group.expected) {
                    (each, Expected::EachRow) => {
                        self.prepare(group.statement, Variant::EachOf(each))?
                    }
                    (1, _) => group.prepared.clone(),
                    (many, _) => self.prepare(group.statement, Variant::Rows(many))?,
                };
                merged.push(Deferred {
                    statement: group.statement,
                    prepared,
                    values: rows.into_iter().flatten().collect(),
                    order: Order::InTurn,
                    expected: group.expected,
                    added: None,
                });
            }
        }
        self.deferred.put_back(merged);
        Ok(())
    }

    /// Notes whose statement failed.
    pub(super) fn blame(&mut self, deferred_failed: bool) {
        if let Some(part) = &mut self.part {
            part.shared = deferred_failed && part.earlier > 0;
        }
    }
}
