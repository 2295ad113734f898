//! One connection to PostgreSQL with its runtime, its prepared statements and its transaction.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::future::{FutureExt, LocalBoxFuture, join_all};
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement as Prepared};

use crate::store::engine::deadline::{GRACE, too_late};
use crate::store::engine::postgres::backend::Lost;
use crate::store::engine::postgres::connector::{Connector, Link};
use crate::store::engine::postgres::patience::{Patience, RoundTrip};
use crate::store::engine::postgres::{Mode, describe};
use crate::store::engine::{FromRow, Row, Statement, StoreError, Value};

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
    deferred: Vec<(Prepared, Vec<Value<'static>>)>,
    /// The first error of the transaction. It cannot be committed any more.
    failure: Option<StoreError>,
    commit_sent: bool,
}

struct Connection {
    link: Link,
    prepared: HashMap<(Statement, Lock), Prepared>,
}

/// Whether a SELECT locks the rows it finds.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lock {
    None,
    Rows,
    /// Skips rows that others have locked.
    FreeRows,
}

impl Lock {
    const fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Rows => " FOR UPDATE",
            Self::FreeRows => " FOR UPDATE SKIP LOCKED",
        }
    }
}

/// What is sent last in a round trip, after the deferred writes.
enum Last<'a> {
    Nothing,
    Text(&'a str),
    Statement(&'a Prepared, &'a [Value<'a>]),
}

#[derive(Default)]
struct Answer {
    rows: Vec<tokio_postgres::Row>,
    changed: u64,
}

impl Session {
    pub fn new(connector: Connector) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| StoreError::Unavailable(e.to_string()))?;
        Ok(Self {
            connector,
            runtime: Some(runtime),
            connection: None,
            lost: None,
            round_trip: ROUND_TRIP,
            deadline: None,
            opening: None,
            in_transaction: false,
            deferred: Vec::new(),
            failure: None,
            commit_sent: false,
        })
    }

    /// Prepares for a transaction; connects if there is no connection.
    pub fn open(&mut self, mode: Mode, deadline: Option<Instant>) -> Result<(), StoreError> {
        self.failure = None;
        self.commit_sent = false;
        self.in_transaction = false;
        self.deferred.clear();
        self.deadline = deadline;
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

    pub fn query<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        lock: Lock,
    ) -> Result<Vec<T>, StoreError> {
        let prepared = self.prepare(statement, lock)?;
        let answer = self.send(Last::Statement(&prepared, values))?;
        let rows = answer.rows.iter();
        rows.map(|row| Row::postgres(row).read()).collect()
    }

    pub fn execute(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        let prepared = self.prepare(statement, Lock::None)?;
        Ok(self.send(Last::Statement(&prepared, values))?.changed)
    }

    pub fn defer(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<(), StoreError> {
        let prepared = self.prepare(statement, Lock::None)?;
        let values = values.iter().cloned().map(Value::into_owned).collect();
        self.deferred.push((prepared, values));
        if self.deferred.len() >= MAX_DEFERRED {
            self.send(Last::Nothing)?;
        }
        Ok(())
    }

    pub fn check(&mut self, statement: Statement) -> Result<(), StoreError> {
        self.prepare(statement, Lock::None).map(drop)
    }

    /// Runs several statements in one text.
    pub fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.send(Last::Text(sql)).map(drop)
    }

    pub fn commit(&mut self) -> Result<(), StoreError> {
        if self.in_transaction || !self.deferred.is_empty() {
            if self.is_too_late() {
                self.roll_back();
                return Err(too_late());
            }
            self.commit_sent = true;
            let committed = self.batch("COMMIT");
            self.failure = None;
            self.in_transaction = false;
            committed?;
        }
        Ok(())
    }

    pub fn roll_back(&mut self) {
        self.deferred.clear();
        if self.in_transaction && self.exchange(Last::Text("ROLLBACK")).is_err() {
            self.lose();
        }
        self.in_transaction = false;
    }

    /// Ends a snapshot after its answer was sent, so that nobody waits for this round trip.
    pub fn finish_reading(&mut self) {
        self.roll_back();
    }

    fn prepare(&mut self, statement: Statement, lock: Lock) -> Result<Prepared, StoreError> {
        let Some(connection) = &self.connection else {
            return Err(no_connection());
        };
        if let Some(prepared) = connection.prepared.get(&(statement, lock)) {
            return Ok(prepared.clone());
        }
        if self.is_too_late() {
            return Err(self.fail_with(too_late(), false));
        }
        let text = numbered_with_dollar(statement.sql()) + lock.suffix();
        let preparing = connection.link.client.prepare(&text);
        match self.wait(preparing) {
            Ok(Ok(prepared)) => {
                if let Some(connection) = &mut self.connection {
                    let kept = prepared.clone();
                    connection.prepared.insert((statement, lock), kept);
                }
                Ok(prepared)
            }
            Ok(Err(error)) => Err(self.fail(&error)),
            Err(given_up) => Err(self.fail_with(given_up, true)),
        }
    }

    /// Sends the deferred writes and then the last statement in one go, and awaits every answer.
    fn send(&mut self, last: Last<'_>) -> Result<Answer, StoreError> {
        if self.is_too_late() && !self.commit_sent {
            return Err(self.fail_with(too_late(), false));
        }
        self.exchange(last)
    }

    fn exchange(&mut self, last: Last<'_>) -> Result<Answer, StoreError> {
        let Some(connection) = &self.connection else {
            return Err(no_connection());
        };
        let client = &connection.link.client;
        let opening = self.opening.take();
        self.in_transaction |= opening.is_some();
        let deferred = std::mem::take(&mut self.deferred);
        let steps = opening
            .map(Last::Text)
            .into_iter()
            .chain(
                deferred
                    .iter()
                    .map(|(p, values)| Last::Statement(p, values)),
            )
            .chain([last])
            .map(|step| step.run(client))
            .collect::<Vec<_>>();
        let answers = match self.wait(join_all(steps)) {
            Ok(answers) => answers,
            Err(given_up) => return Err(self.fail_with(given_up, true)),
        };
        // The first error is the cause. Those after it only say that the transaction has failed.
        match answers.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(mut answers) => Ok(answers.pop().unwrap_or_default()),
            Err(error) => Err(self.fail(&error)),
        }
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
        let mut columns = self.query::<String>(COLUMNS, &[], Lock::None)?;
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

impl<'a> Last<'a> {
    /// The first poll writes the request: what is polled in order is sent in order.
    fn run(self, client: &'a Client) -> LocalBoxFuture<'a, Result<Answer, tokio_postgres::Error>> {
        async move {
            match self {
                Self::Nothing => Ok(Answer::default()),
                Self::Text(sql) => {
                    client.batch_execute(sql).await?;
                    Ok(Answer::default())
                }
                Self::Statement(prepared, values) if prepared.columns().is_empty() => {
                    let changed = client.execute_raw(prepared, parameters(values)).await?;
                    Ok(Answer {
                        rows: Vec::new(),
                        changed,
                    })
                }
                Self::Statement(prepared, values) => {
                    let parameters = parameters(values).collect::<Vec<_>>();
                    let rows = client.query(prepared, &parameters).await?;
                    let changed = rows.len() as u64;
                    Ok(Answer { rows, changed })
                }
            }
        }
        .boxed_local()
    }
}

fn parameters<'a>(
    values: &'a [Value<'a>],
) -> impl ExactSizeIterator<Item = &'a (dyn ToSql + Sync)> + 'a {
    values.iter().map(|value| value as &(dyn ToSql + Sync))
}

fn no_connection() -> StoreError {
    StoreError::Unavailable("the connection to PostgreSQL is lost".into())
}

/// What an error means for the caller, and whether the connection is lost.
fn classify(error: &tokio_postgres::Error) -> (StoreError, bool) {
    let text = describe(error);
    let Some(state) = error.code() else {
        // No SQLSTATE: the socket or the protocol failed, not the statement.
        let local = error.to_string().contains("error serializing parameter");
        return if local {
            (StoreError::Failed(text), true)
        } else {
            (StoreError::Unavailable(text), true)
        };
    };
    if *state == SqlState::T_R_SERIALIZATION_FAILURE || *state == SqlState::T_R_DEADLOCK_DETECTED {
        return (StoreError::Collision(text), false);
    }
    // The server ended the statement: we cancelled it, or it took longer than we let it.
    if *state == SqlState::QUERY_CANCELED || *state == SqlState::LOCK_NOT_AVAILABLE {
        return (StoreError::Unavailable(text), false);
    }
    // 0A000: the schema changed under a prepared statement. A new connection prepares it again.
    // 25006: the server has become a standby. A new connection looks for the primary.
    let unavailable = *state == SqlState::FEATURE_NOT_SUPPORTED
        || *state == SqlState::READ_ONLY_SQL_TRANSACTION
        || *state == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        || ["08", "53", "57P", "58"]
            .iter()
            .any(|class| state.code().starts_with(class));
    if unavailable {
        (StoreError::Unavailable(text), true)
    } else {
        (StoreError::Failed(text), false)
    }
}

/// Rewrites `?1` to `$1`. Statements contain no other question mark.
fn numbered_with_dollar(sql: &str) -> String {
    sql.replace('?', "$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_rewritten() {
        assert_eq!(
            numbered_with_dollar("SELECT a FROM b WHERE c = ?1 AND d < ?12"),
            "SELECT a FROM b WHERE c = $1 AND d < $12"
        );
    }
}
