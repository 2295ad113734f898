//! The two database engines behind one interface. Nothing outside this folder knows which one it is.
//!
//! A transaction is a plain function over `&mut Tx`. SQLite runs it on the writer thread, with others
//! in one commit. PostgreSQL runs it on a thread that owns a connection. Both run the same SQL text.

mod admission;
mod backlog;
mod deadline;
mod lookup;
mod migrate;
mod moves;
mod postgres;
mod sqlite;
mod transfer;
mod value;
mod work;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deadline::Waiting;
use metrics::gauge;
use postgres::{Lock, Order};
use work::{Lane, Queued, Reply, Work};

use crate::domain::Timestamp;
use crate::seal::Keyring;
use crate::store::locked::Locked;
use crate::store::wakeups::{ToWake, Wakeups};

pub use backlog::watch_processors;
pub use deadline::{background_within, within};
pub use lookup::Lookup;
pub use migrate::Migration;
pub use postgres::{DatabaseServer, Target};
pub use sqlite::{Backup, BackupError, Source};
pub use transfer::{Table, key_to_json};
pub use value::{Cell, Column, FromRow, Row, RowCells, Value};
pub use work::{Function, typed};

/// One SQL statement, in the dialect that both engines share (`?1` placeholders).
/// Made only by the `statements!` macro, which also lists it for the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement(&'static str);

impl Statement {
    pub(in crate::store) const fn new(sql: &'static str) -> Self {
        Self(sql)
    }

    pub const fn sql(self) -> &'static str {
        self.0
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached or cannot write now; the same call may succeed later.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// Too many transactions have waited too long: this one was refused at once.
    #[error("the database is overloaded")]
    Overloaded,
    /// The transaction collided with another one and was rolled back.
    #[error("the transaction collided with another one: {0}")]
    Collision(String),
    /// The database is newer than this program, or not a database of this program.
    #[error("{0}")]
    Incompatible(String),
    /// Anything else: a bug in a statement, a row that breaks a rule.
    #[error("the database failed: {0}")]
    Failed(String),
}

/// Where the database is.
#[derive(Clone, Debug)]
pub enum Location {
    Sqlite { file: PathBuf },
    Postgres { url: String, connections: usize },
}

pub(super) enum Engine {
    Sqlite(sqlite::Engine),
    Postgres(postgres::Engine, postgres::Readers),
}

impl Engine {
    pub fn open(location: &Location, migrations: &'static [Migration]) -> Result<Self, StoreError> {
        match location {
            Location::Sqlite { file } => sqlite::Engine::open(file, migrations).map(Self::Sqlite),
            Location::Postgres { url, connections } => {
                let readers = postgres::Readers::of(*connections);
                let pool = postgres::Engine::open(url, connections - readers, migrations)?;
                let readers = postgres::Readers::start(pool.connector(), readers)?;
                Ok(Self::Postgres(pool, readers))
            }
        }
    }

    /// How many migrations are still to be applied. Changes nothing.
    pub fn pending_migrations(
        location: &Location,
        migrations: &[Migration],
    ) -> Result<usize, StoreError> {
        match location {
            Location::Sqlite { file } => sqlite::pending_migrations(file, migrations),
            Location::Postgres { url, .. } => postgres::pending_migrations(url, migrations),
        }
    }

    pub fn server(
        location: &Location,
        now: Timestamp,
    ) -> Result<Option<DatabaseServer>, StoreError> {
        match location {
            Location::Sqlite { .. } => Ok(None),
            Location::Postgres { url, connections } => {
                DatabaseServer::at(url, *connections, now).map(Some)
            }
        }
    }

    pub fn back_up(
        location: &Location,
        to: &Path,
        migrations: &[Migration],
    ) -> Result<Backup, BackupError> {
        match location {
            Location::Sqlite { file } => sqlite::back_up(file, to, migrations),
            Location::Postgres { .. } => Err(BackupError::NotHere("pg_dump")),
        }
    }

    pub fn restore(
        from: &Path,
        location: &Location,
        migrations: &[Migration],
    ) -> Result<Backup, BackupError> {
        match location {
            Location::Sqlite { file } => sqlite::restore(from, file, migrations),
            Location::Postgres { .. } => Err(BackupError::NotHere("pg_restore")),
        }
    }

    /// Transactions of one lane run one after the other, and many in one commit.
    pub async fn write(&self, function: Function, lane: Option<Lane>) -> Reply {
        let waiting = Waiting::begin();
        let (work, answer) = Work::new(function);
        let queued = Queued::new(work, &waiting).in_lane(lane);
        match self {
            Self::Sqlite(engine) => engine.write(queued),
            Self::Postgres(engine, _) => engine.run(queued, postgres::Mode::Write),
        }?;
        waiting.for_answer(answer).await
    }

    /// Runs a read of single rows on the calling thread, if that takes less time than to send it to
    /// another one.
    pub fn read_here(&self, read: &mut dyn FnMut(&mut Tx<'_>)) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(engine) => match engine.inline_turn() {
                Some(_turn) => {
                    admission::admit_inline()?;
                    engine.with_reader(&mut |connection| read(&mut Tx::sqlite(connection)))
                }
                None => Ok(()),
            },
            Self::Postgres(..) => Ok(()),
        }
    }

    pub async fn read(&self, function: Function) -> Reply {
        self.look(function, postgres::Mode::Read).await
    }

    /// Finds a row by its key.
    pub async fn find<T>(&self, lookup: Lookup<T>) -> Result<Option<T>, StoreError>
    where
        T: FromRow + Send + 'static,
    {
        match self {
            Self::Sqlite(engine) => {
                if let Some(_turn) = engine.inline_turn() {
                    admission::admit_inline()?;
                    let mut found = Ok(None);
                    engine.with_reader(&mut |connection| {
                        found = sqlite::find(connection, &lookup);
                    })?;
                    return found;
                }
            }
            Self::Postgres(_, readers) => {
                if let Some(found) = readers.find(&lookup).await {
                    return found;
                }
            }
        }
        let find = move |tx: &mut Tx<'_>| tx.optional(lookup.statement, &lookup.values);
        typed(
            self.read(Function::new::<Option<T>, StoreError, _>(find))
                .await,
        )
    }

    pub async fn snapshot(&self, function: Function) -> Reply {
        self.look(function, postgres::Mode::Snapshot).await
    }

    /// SQLite has no cheaper way to read than a snapshot.
    async fn look(&self, function: Function, mode: postgres::Mode) -> Reply {
        let waiting = Waiting::begin();
        let (work, answer) = Work::new(function);
        let queued = Queued::new(work, &waiting);
        match self {
            Self::Sqlite(engine) => engine.snapshot(queued),
            Self::Postgres(engine, _) => engine.run(queued, mode),
        }?;
        waiting.for_answer(answer).await
    }

    /// SQLite serves one process.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(..))
    }

    /// Asks the thread that matters most: on SQLite the writer, on PostgreSQL any.
    pub async fn ping(&self, statement: Statement) -> Result<(), StoreError> {
        let ask = move |tx: &mut Tx<'_>| tx.optional::<i64>(statement, &[]).map(drop);
        let ask = Function::new(ask);
        typed(match self {
            Self::Sqlite(_) => self.write(ask, None).await,
            Self::Postgres(..) => self.read(ask).await,
        })
    }

    /// Sets the gauges of the engine. Called when somebody reads them.
    pub fn record_load(&self) {
        match self {
            Self::Sqlite(engine) => gauge!("legwork_writer_queue").set(engine.load().queued as f64),
            Self::Postgres(engine, readers) => {
                let load = engine.load();
                let connections = load.connections + readers.connected();
                gauge!("legwork_pool_connections").set(connections as f64);
                gauge!("legwork_pool_busy").set(load.busy as f64);
                gauge!("legwork_pool_queue").set(load.queued as f64);
            }
        }
    }
}

/// Another transaction was faster.
fn not_as_expected() -> StoreError {
    StoreError::Collision("a row was not in the expected state".into())
}

/// How much there is to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Connections that are open.
    pub connections: usize,
    /// Connections on which a transaction runs.
    pub busy: usize,
    /// Transactions that wait.
    pub queued: usize,
}

/// An open transaction, or a read.
pub struct Tx<'a> {
    inner: Inner<'a>,
    /// Whom to wake after the commit.
    pub(in crate::store) to_wake: ToWake,
    /// What seals secrets. A store that was not unlocked has none.
    pub(in crate::store) keyring: Option<Arc<Keyring>>,
    /// What it has locked and read.
    pub(in crate::store) locked: Locked,
    /// SQLite runs it again, and undoes nothing but it if it fails.
    careful: bool,
}

enum Inner<'a> {
    Sqlite(&'a rusqlite::Connection),
    Postgres(&'a mut postgres::Session),
}

impl<'a> Tx<'a> {
    fn sqlite(connection: &'a rusqlite::Connection) -> Self {
        Self::new(Inner::Sqlite(connection))
    }

    fn postgres(session: &'a mut postgres::Session) -> Self {
        Self::new(Inner::Postgres(session))
    }

    fn new(inner: Inner<'a>) -> Self {
        Self {
            inner,
            to_wake: ToWake::default(),
            keyring: None,
            locked: Locked::default(),
            careful: false,
        }
    }

    /// All rows of a query.
    pub fn all<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, StoreError> {
        self.query(statement, values, Lock::None)
    }

    /// The row of a query, if there is one.
    pub fn optional<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Option<T>, StoreError> {
        Ok(self.all(statement, values)?.into_iter().next())
    }

    /// Like `optional`, and locks the row until the transaction ends. SQLite has one writer at a
    /// time anyway.
    pub fn optional_locked<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Option<T>, StoreError> {
        let rows = self.query(statement, values, Lock::Rows)?;
        Ok(rows.into_iter().next())
    }

    /// All rows of a query that no other transaction has locked. They are locked until this one ends.
    pub fn all_unclaimed<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, StoreError> {
        self.query(statement, values, Lock::FreeRows)
    }

    fn query<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        lock: Lock,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.each_row(statement, values, lock, &mut |row| {
            found.push(row.read()?);
            Ok(())
        })?;
        Ok(found)
    }

    fn each_row(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        lock: Lock,
        take: &mut dyn FnMut(Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match &mut self.inner {
            Inner::Sqlite(connection) => sqlite::each_row(connection, statement, values, take),
            Inner::Postgres(session) => {
                let rows = session.query(statement, values, lock)?;
                rows.iter().map(Row::postgres).try_for_each(take)
            }
        }
    }

    /// Runs a write and returns how many rows it changed.
    pub fn execute(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        match &mut self.inner {
            Inner::Sqlite(connection) => sqlite::execute(connection, statement, values),
            Inner::Postgres(session) => session.execute(statement, values),
        }
    }

    /// Runs a write that names the state it expects and must change one row. Otherwise another
    /// transaction was faster, and this one is a collision: it is retried on the new state.
    pub fn execute_one(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        if self.execute(statement, values)? == 1 {
            return Ok(());
        }
        let error = not_as_expected();
        if let Inner::Postgres(session) = &mut self.inner {
            session.must_retry(error.clone());
        }
        Err(error)
    }

    /// Like `execute_one`, for a row that this transaction has locked and read: it is in the state in
    /// which it was read. PostgreSQL sends it with the next statement, and checks before the commit that
    /// it changed one row.
    pub fn change_locked(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        match &mut self.inner {
            Inner::Sqlite(_) => self.execute_one(statement, values),
            Inner::Postgres(session) => session.change(statement, values, 0),
        }
    }

    /// Like `change_locked`, for a statement that adds its last values to a row and whose conditions hold
    /// for a sum only if they hold for each part of it. Of those that differ in these values alone,
    /// a batch of PostgreSQL sends one, with the sums.
    pub fn add_to_locked(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        added: usize,
    ) -> Result<(), StoreError> {
        match &mut self.inner {
            Inner::Sqlite(_) => self.execute_one(statement, values),
            Inner::Postgres(session) => session.change(statement, values, added),
        }
    }

    /// Whether what was read shortly before will do for now: a read would cost a round trip, or time of
    /// the one writer. Only for what a later `change_locked` names in its `WHERE`. If that fails, the
    /// transaction is run again, and then it has to read.
    pub fn may_trust_earlier_reads(&self) -> bool {
        match &self.inner {
            Inner::Sqlite(_) => !self.careful,
            Inner::Postgres(session) => session.is_first_try_of_batch(),
        }
    }

    /// A write that succeeds or is an error, such as an INSERT: the number of changed rows does not
    /// matter. PostgreSQL sends it together with the next statement or the commit, which saves a
    /// round trip. An error appears there and still rolls back the transaction.
    pub fn defer(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<(), StoreError> {
        self.defer_in(Order::InTurn, statement, values)
    }

    /// Like `defer`, for a row that transactions of several accounts write, with its key in the first
    /// values. A batch of PostgreSQL writes such rows at its end, in one order, so that batches do not
    /// wait for each other in a circle.
    pub fn defer_last(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        self.defer_in(Order::Last, statement, values)
    }

    /// Like `defer`, for a write that lowers something to its last value, if that is less. Of two that
    /// differ in this value alone, PostgreSQL is sent the lesser, after the other deferred writes.
    pub fn defer_least(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        self.defer_in(Order::Least, statement, values)
    }

    fn defer_in(
        &mut self,
        order: Order,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        match &mut self.inner {
            Inner::Sqlite(connection) => sqlite::execute(connection, statement, values).map(drop),
            Inner::Postgres(session) => session.defer(statement, values, order),
        }
    }

    /// Prepares a statement without running it.
    pub fn check(&mut self, statement: Statement) -> Result<(), StoreError> {
        match &mut self.inner {
            Inner::Sqlite(connection) => sqlite::check(connection, statement),
            Inner::Postgres(session) => session.check(statement),
        }
    }

    /// The columns of every table, in one form for both engines.
    pub fn schema(&mut self) -> Result<Vec<String>, StoreError> {
        match &mut self.inner {
            Inner::Sqlite(connection) => sqlite::schema(connection),
            Inner::Postgres(session) => session.schema(),
        }
    }
}
