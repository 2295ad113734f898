//! One connection to PostgreSQL with its runtime, its prepared statements and its transaction.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::{FutureExt, LocalBoxFuture, join_all};
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement as Prepared};

use crate::store::engine::postgres::Mode;
use crate::store::engine::postgres::connector::Connector;
use crate::store::engine::postgres::describe;
use crate::store::engine::{FromRow, Row, Statement, StoreError, Value};

/// After this time a round trip fails, and the connection is closed.
const ROUND_TRIP_TIMEOUT: Duration = Duration::from_secs(10);
/// Every statement has an index. On a table that is not analyzed yet the planner may still choose a
/// scan, and a prepared statement keeps that plan while the table grows. Databases that only speak
/// PostgreSQL's protocol may refuse the setting; that is fine.
const PLANNING: &str = "SET enable_seqscan = off";
/// How many deferred writes are kept back; then they are sent.
const MAX_DEFERRED: usize = 24;

pub struct Session {
    connector: Connector,
    runtime: Runtime,
    connection: Option<Connection>,
    /// Sent before the next statement: `BEGIN`.
    opening: Option<&'static str>,
    in_transaction: bool,
    deferred: Vec<(Prepared, Vec<Value<'static>>)>,
    /// The first error of the transaction. It cannot be committed any more.
    failure: Option<StoreError>,
    commit_sent: bool,
}

struct Connection {
    client: Client,
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
            runtime,
            connection: None,
            opening: None,
            in_transaction: false,
            deferred: Vec::new(),
            failure: None,
            commit_sent: false,
        })
    }

    /// Prepares for a transaction; connects if there is no connection.
    pub fn open(&mut self, mode: Mode) -> Result<(), StoreError> {
        self.failure = None;
        self.commit_sent = false;
        self.in_transaction = false;
        self.deferred.clear();
        self.opening = match mode {
            Mode::Write => Some("BEGIN"),
            Mode::Read => None,
            Mode::Snapshot => Some("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        };
        let closed = |c: &Connection| c.client.is_closed();
        if self.connection.as_ref().is_none_or(closed) {
            self.connection = None;
            let client = self.runtime.block_on(self.connector.connect())?;
            let _ = self.runtime.block_on(client.batch_execute(PLANNING));
            self.connection = Some(Connection {
                client,
                prepared: HashMap::new(),
            });
        }
        Ok(())
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
        if self.in_transaction && self.batch("ROLLBACK").is_err() {
            self.connection = None;
        }
        self.in_transaction = false;
    }

    /// Ends a snapshot after its answer was sent, so that nobody waits for this round trip.
    pub fn finish_reading(&mut self) {
        self.roll_back();
    }

    fn prepare(&mut self, statement: Statement, lock: Lock) -> Result<Prepared, StoreError> {
        let Some(connection) = &mut self.connection else {
            return Err(no_connection());
        };
        if let Some(prepared) = connection.prepared.get(&(statement, lock)) {
            return Ok(prepared.clone());
        }
        let text = numbered_with_dollar(statement.sql()) + lock.suffix();
        let preparing = connection.client.prepare(&text);
        let prepared = self
            .runtime
            .block_on(async { tokio::time::timeout(ROUND_TRIP_TIMEOUT, preparing).await });
        match prepared {
            Ok(Ok(prepared)) => {
                connection
                    .prepared
                    .insert((statement, lock), prepared.clone());
                Ok(prepared)
            }
            Ok(Err(error)) => Err(self.fail(&error)),
            Err(_) => Err(self.time_out()),
        }
    }

    /// Sends the deferred writes and then the last statement in one go, and awaits every answer.
    fn send(&mut self, last: Last<'_>) -> Result<Answer, StoreError> {
        let Some(connection) = &self.connection else {
            return Err(no_connection());
        };
        let client = &connection.client;
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
        let answers = self
            .runtime
            .block_on(async { tokio::time::timeout(ROUND_TRIP_TIMEOUT, join_all(steps)).await });
        let Ok(answers) = answers else {
            return Err(self.time_out());
        };
        // The first error is the cause. Those after it only say that the transaction has failed.
        match answers.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(mut answers) => Ok(answers.pop().unwrap_or_default()),
            Err(error) => Err(self.fail(&error)),
        }
    }

    /// Marks the transaction as failed, and drops the connection if that is lost.
    fn fail(&mut self, error: &tokio_postgres::Error) -> StoreError {
        let (error, connection_lost) = classify(error);
        self.fail_with(error, connection_lost)
    }

    fn time_out(&mut self) -> StoreError {
        let error = StoreError::Unavailable("PostgreSQL did not answer in time".into());
        self.fail_with(error, true)
    }

    fn fail_with(&mut self, error: StoreError, connection_lost: bool) -> StoreError {
        if connection_lost {
            self.connection = None;
            self.in_transaction = false;
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
    // 0A000: the schema changed under a prepared statement. A new connection prepares it again.
    let unavailable = *state == SqlState::FEATURE_NOT_SUPPORTED
        || *state == SqlState::READ_ONLY_SQL_TRANSACTION
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
