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
mod tx;
mod value;
mod work;

use std::path::{Path, PathBuf};

use deadline::Waiting;
use metrics::gauge;
use work::{Lane, Queued, Reply, Work};

use crate::domain::Timestamp;
use crate::store::wakeups::{ToWake, Wakeups};

pub use backlog::watch_processors;
pub use deadline::{background_within, within};
pub use lookup::{KeptTable, Lookup};
pub use migrate::Migration;
pub use postgres::{DatabaseServer, Target, session_settings};
pub use sqlite::{Backup, BackupError, Source};
pub use transfer::{Table, key_to_json};
pub use tx::Tx;
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
        if let Some(found) = self.find_here(&lookup) {
            return found;
        }
        if let Self::Postgres(engine, readers) = self {
            if !lookup.is_all {
                engine.expects_to_admit()?;
            }
            if let Some(found) = readers.find(&lookup).await {
                return found;
            }
        }
        let find = move |tx: &mut Tx<'_>| tx.optional(lookup.statement, &lookup.values);
        typed(
            self.read(Function::new::<Option<T>, StoreError, _>(find))
                .await,
        )
    }

    /// What a lookup finds on the calling thread, if that may read now.
    pub fn find_here<T: FromRow + 'static>(
        &self,
        lookup: &Lookup<T>,
    ) -> Option<Result<Option<T>, StoreError>> {
        let Self::Sqlite(engine) = self else {
            return None;
        };
        let _turn = engine.inline_turn()?;
        Some(admission::admit_inline().and_then(|()| engine.find(lookup)))
    }

    /// The rows of two lookups, of which the first leads to the second, if the engine has kept both.
    pub fn kept<T: 'static, U: 'static>(
        &self,
        lookup: &Lookup<T>,
        then: impl FnOnce(&T) -> Lookup<U>,
    ) -> Result<Option<(T, U)>, StoreError> {
        let Self::Sqlite(engine) = self else {
            return Ok(None);
        };
        let Some(_turn) = engine.inline_turn() else {
            return Ok(None);
        };
        admission::admit_inline()?;
        Ok(engine.kept(lookup, then))
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
