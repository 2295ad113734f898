//! One connection to PostgreSQL with its runtime, its prepared statements and its transaction.

mod part;
mod variant;

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tokio_postgres::Statement as Prepared;

use crate::store::engine::deadline::{GRACE, too_late};
use crate::store::engine::not_as_expected;
use crate::store::engine::postgres::Mode;
use crate::store::engine::postgres::connect::backend::Lost;
use crate::store::engine::postgres::connect::connector::{Connector, Link};
use crate::store::engine::postgres::connect::runtime::own_runtime;
use crate::store::engine::postgres::errors::{classify, no_connection, server_goes_on};
use crate::store::engine::postgres::patience::{Patience, RoundTrip};
use crate::store::engine::postgres::pipeline::{Answer, Step};
use crate::store::engine::postgres::writes::deferred::{
    Address, Deferred, Expected, OneOf, Order, Shapes, Writes,
};
use crate::store::engine::{Statement, StoreError, Tx, Value};

pub use part::Ended;
use part::Part;
pub use variant::Lock;
use variant::Variant;

/// After this time a round trip fails, even if nobody has a deadline.
const ROUND_TRIP: Duration = Duration::from_secs(10);
/// A migration may change every row of a table.
const MIGRATION_ROUND_TRIP: Duration = Duration::from_secs(3_600);
/// How many deferred writes are kept back; then they are sent.
const MAX_DEFERRED: usize = 24;

pub struct Session {
    connector: Connector,
    /// None once the session is dropped.
    runtime: Option<Runtime>,
    connection: Option<Connection>,
    /// The connection before this one, if it was not closed in good order.
    lost: Option<Lost>,
    round_trip: Duration,
    /// The transaction is given up when it passes.
    deadline: Option<Instant>,
    /// Sent before the next statement: `BEGIN`.
    opening: Option<&'static str>,
    in_transaction: bool,
    deferred: Writes,
    shapes: Shapes,
    /// The first error of the transaction. It cannot be committed any more.
    failure: Option<StoreError>,
    commit_sent: bool,
    /// Where the current transaction of a batch stands. None outside of batches.
    part: Option<Part>,
}

struct Connection {
    link: Link,
    prepared: HashMap<(Address, Variant), Prepared>,
}

impl Session {
    pub fn new(connector: Connector) -> Result<Self, StoreError> {
        let runtime = own_runtime()?;
        Ok(Self {
            connector,
            runtime: Some(runtime),
            connection: None,
            lost: None,
            round_trip: ROUND_TRIP,
            deadline: None,
            opening: None,
            in_transaction: false,
            deferred: Writes::default(),
            shapes: Shapes::default(),
            failure: None,
            commit_sent: false,
            part: None,
        })
    }

    /// Prepares for a transaction; connects if there is no connection.
    pub fn open(&mut self, mode: Mode, deadline: Option<Instant>) -> Result<(), StoreError> {
        self.failure = None;
        self.commit_sent = false;
        self.in_transaction = false;
        self.deferred.clear();
        self.deadline = deadline;
        self.part = None;
        self.opening = match mode {
            Mode::Write => Some("BEGIN"),
            Mode::Read => None,
            Mode::Snapshot => Some("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        };
        if self.is_connected() {
            return Ok(());
        }
        self.connect()
    }

    /// Lets statements run as long as a migration may take.
    pub fn be_patient(&mut self, patient: bool) {
        self.round_trip = if patient {
            MIGRATION_ROUND_TRIP
        } else {
            ROUND_TRIP
        };
    }

    /// Whether there is a connection, as far as is known.
    pub fn is_connected(&mut self) -> bool {
        let closed = |c: &Connection| c.link.client.is_closed();
        if self.connection.as_ref().is_some_and(closed) {
            self.lose();
        }
        self.connection.is_some()
    }

    pub fn connect(&mut self) -> Result<(), StoreError> {
        let Some(runtime) = &self.runtime else {
            return Err(no_connection());
        };
        let link = runtime.block_on(self.connector.connect(self.lost.as_ref()));
        // Tasks of connections that were not used end here, and so do these connections.
        runtime.block_on(tokio::task::yield_now());
        self.connection = Some(Connection {
            link: link?,
            prepared: HashMap::new(),
        });
        self.lost = None;
        self.connector.count(true);
        Ok(())
    }

    /// Closes the connection at once. The server may still be busy with what was sent.
    fn lose(&mut self) {
        self.in_transaction = false;
        let Some(connection) = self.connection.take() else {
            return;
        };
        self.connector.count(false);
        self.lost = Some(Lost {
            host: connection.link.host.index,
            backend: connection.link.backend.clone(),
            at: Instant::now(),
            committing: self.commit_sent,
        });
        drop(connection);
        if let Some(runtime) = &self.runtime {
            runtime.block_on(tokio::task::yield_now());
        }
    }

    pub fn must_retry(&mut self, collision: StoreError) {
        self.failure.get_or_insert(collision);
    }

    pub fn take_failure(&mut self) -> Option<StoreError> {
        self.failure.take()
    }

    /// Whether the connection was lost before `COMMIT` was sent.
    pub fn lost_before_commit(&self) -> bool {
        self.connection.is_none() && !self.commit_sent
    }

    pub fn query(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        lock: Lock,
        one: Option<OneOf<'_>>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        if self.part.is_some() && lock == Lock::Rows {
            return self.query_without_waiting(statement, values, one);
        }
        Ok(self.run(statement, values, lock, one)?.rows)
    }

    pub fn execute(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        Ok(self.run(statement, values, Lock::None, None)?.changed)
    }

    fn run(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        lock: Lock,
        one: Option<OneOf<'_>>,
    ) -> Result<Answer, StoreError> {
        let prepared = self.prepare(statement, Variant::Locking(lock))?;
        let step = Step::Statement(&prepared, values);
        match self.part {
            Some(_) => self.send_part(statement, one, step),
            None => self.send(step),
        }
    }

    /// Keeps a write back: see `Tx::defer`, `Tx::defer_last`, `Tx::defer_least` and `Tx::defer_sum`.
    pub fn defer(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        order: Order,
        added: Option<Range<usize>>,
    ) -> Result<(), StoreError> {
        self.keep_back(statement, values, order, (Expected::Anything, added))
    }

    /// Keeps back a write that must change one row: see `Tx::change_locked` and `Tx::add_to_locked`.
    pub fn change(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        added: Option<Range<usize>>,
    ) -> Result<(), StoreError> {
        let expected = (Expected::OneRow, added);
        self.keep_back(statement, values, Order::InTurn, expected)
    }

    fn keep_back(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        order: Order,
        (expected, added): (Expected, Option<Range<usize>>),
    ) -> Result<(), StoreError> {
        let prepared = self.prepare(statement, Variant::Locking(Lock::None))?;
        self.deferred.push(Deferred {
            statement,
            prepared,
            values: values.iter().cloned().map(Value::into_owned).collect(),
            order,
            expected,
            added,
        });
        if self.part.is_some() {
            self.send_part_if_full()
        } else if self.deferred.len() >= MAX_DEFERRED {
            self.send(Step::Nothing).map(drop)
        } else {
            Ok(())
        }
    }

    pub fn check(&mut self, statement: Statement) -> Result<(), StoreError> {
        self.prepare(statement, Variant::Locking(Lock::None))
            .map(drop)
    }

    /// Runs several statements in one text.
    pub fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.send(Step::Text(sql)).map(drop)
    }

    pub fn commit(&mut self) -> Result<(), StoreError> {
        if self.in_transaction || self.deferred.len() > 0 {
            if self.is_too_late() {
                self.roll_back();
                return Err(too_late());
            }
            if let Err(error) = self.prepare_commit() {
                self.roll_back();
                return Err(error);
            }
            self.commit_sent = true;
            let committed = self.batch("COMMIT");
            self.failure = None;
            self.in_transaction = false;
            committed?;
        }
        Ok(())
    }

    /// Once `COMMIT` is sent, it is too late to find that a row was not in the expected state.
    fn prepare_commit(&mut self) -> Result<(), StoreError> {
        self.merge_deferred()?;
        if self.deferred.have_expectations() {
            self.exchange(Step::Nothing)?;
        }
        Ok(())
    }

    pub fn roll_back(&mut self) {
        self.deferred.clear();
        if self.in_transaction && self.exchange(Step::Text("ROLLBACK")).is_err() {
            self.lose();
        }
        self.in_transaction = false;
    }

    /// Ends a snapshot after its answer was sent, so that nobody waits for this round trip.
    pub fn finish_reading(&mut self) {
        self.roll_back();
    }

    fn prepare(&mut self, statement: Statement, variant: Variant) -> Result<Prepared, StoreError> {
        let Some(connection) = &self.connection else {
            return Err(no_connection());
        };
        let key = (Address::of(statement), variant);
        if let Some(prepared) = connection.prepared.get(&key) {
            return Ok(prepared.clone());
        }
        if self.is_too_late() {
            return Err(self.fail_with(too_late(), false));
        }
        let one = (key.0, Variant::Locking(Lock::None));
        let text = variant.text(statement, connection.prepared.get(&one));
        let preparing = connection.link.client.prepare(&text);
        match self.wait(preparing) {
            Ok(Ok(prepared)) => {
                if let Some(connection) = &mut self.connection {
                    let kept = prepared.clone();
                    connection.prepared.insert(key, kept);
                }
                Ok(prepared)
            }
            Ok(Err(error)) => Err(self.fail(&error)),
            Err(given_up) => Err(self.fail_with(given_up, true)),
        }
    }

    /// Sends the deferred writes and then the last statement in one go, and awaits every answer.
    fn send(&mut self, last: Step<'_>) -> Result<Answer, StoreError> {
        if self.is_too_late() && !self.commit_sent {
            return Err(self.fail_with(too_late(), false));
        }
        self.exchange(last)
    }

    fn exchange(&mut self, last: Step<'_>) -> Result<Answer, StoreError> {
        let Some(connection) = &self.connection else {
            return Err(no_connection());
        };
        let client = &connection.link.client;
        if !self.deferred.fit() || !last.fits() {
            self.deferred.clear();
            self.commit_sent = false;
            let error = StoreError::Failed("a value that its statement does not take".into());
            return Err(self.fail_with(error, true));
        }
        let opening = self.opening.take();
        self.in_transaction |= opening.is_some();
        let deferred = self.deferred.take();
        let first = opening.iter().len();
        let before = first + deferred.len();
        let steps = opening
            .map(Step::Text)
            .into_iter()
            .chain(
                deferred
                    .iter()
                    .map(|write| Step::Statement(&write.prepared, &write.values)),
            )
            .chain([last])
            .map(|step| step.run(client))
            .collect::<Vec<_>>();
        let answers = match self.wait(join_all(steps)) {
            Ok(answers) => answers,
            Err(given_up) => return Err(self.fail_with(given_up, true)),
        };
        // The first failure is the cause. Errors after it only say that the transaction has failed.
        let mut last = Answer::default();
        for (at, answer) in answers.into_iter().enumerate() {
            let write = at.checked_sub(first).and_then(|at| deferred.get(at));
            let as_expected = |write: &Deferred| write.expected.is_met(&answer);
            if !write.is_none_or(as_expected) {
                self.blame(true);
                return Err(self.fail_with(not_as_expected(), false));
            }
            match answer {
                Ok(answer) => last = answer,
                Err(error) => {
                    self.blame(at < before);
                    // The server goes on: the transaction had failed before it came to `COMMIT`.
                    self.commit_sent &= at == before || !server_goes_on(&error);
                    return Err(self.fail(&error));
                }
            }
        }
        Ok(last)
    }

    /// Awaits a round trip. On an error the connection must be given up: the server has not answered.
    fn wait<T>(&self, round_trip: impl Future<Output = T>) -> Result<T, StoreError> {
        let (Some(runtime), Some(connection)) = (&self.runtime, &self.connection) else {
            return Err(no_connection());
        };
        let now = Instant::now();
        let limit = now + self.round_trip;
        // A transaction that is too late is still rolled back, and a commit still gets its answer.
        let limit = self
            .deadline
            .map_or(limit, |at| limit.min(at.max(now + GRACE)));
        let patience = Patience {
            connector: &self.connector,
            link: &connection.link,
            limit,
            kind: if self.commit_sent {
                RoundTrip::Commit
            } else {
                RoundTrip::Statement
            },
        };
        runtime.block_on(patience.wait(round_trip))
    }

    fn is_too_late(&self) -> bool {
        self.deadline.is_some_and(|at| at <= Instant::now())
    }

    /// Marks the transaction as failed, and drops the connection if that is lost.
    fn fail(&mut self, error: &tokio_postgres::Error) -> StoreError {
        let (error, connection_lost) = classify(error);
        self.fail_with(error, connection_lost)
    }

    fn fail_with(&mut self, error: StoreError, connection_lost: bool) -> StoreError {
        if connection_lost {
            self.lose();
        }
        if let Some(part) = &mut self.part {
            part.fail();
        }
        self.failure.get_or_insert_with(|| error.clone());
        error
    }

    /// Each column as `table.column TYPE null|not null`.
    pub fn schema(&mut self) -> Result<Vec<String>, StoreError> {
        const COLUMNS: Statement = Statement::new(
            "SELECT table_name || '.' || column_name || ' ' || upper(data_type)
                    || CASE is_nullable WHEN 'NO' THEN ' not null' ELSE ' null' END
             FROM information_schema.columns
             WHERE table_schema = current_schema() AND table_name <> 'migration_lock'",
        );
        let mut columns: Vec<String> = Tx::postgres(self).all(COLUMNS, &[])?;
        columns.sort();
        Ok(columns)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.connection.take().is_some() {
            self.connector.count(false);
        }
        // Looking up a name may block a thread of the runtime. Nobody waits for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
