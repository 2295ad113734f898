//! Migrates the schema while other servers go on.
//!
//! Indexes are built first, and hold up nobody (`indexes.rs`). All else is one transaction. It does not wait
//! long for a lock: all who come after it would wait with it, for as long as, say, a backup reads the table. It
//! is tried again instead.
//!
//! Rows of `migration_lock` let one server at a time build, and one apply. Whoever has something to apply holds both:
//! otherwise a second server would build again what the first has just renamed. Nobody waits in a statement for them:
//! an index is complete only when all older statements have ended, so whoever builds and whoever waits for that
//! would wait for each other.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::store::engine::migrate::{self, Migration, Schema};
use crate::store::engine::postgres::connect::connector::Connector;
use crate::store::engine::postgres::indexes::{Index, PREFIX, Plan};
use crate::store::engine::postgres::session::Session;
use crate::store::engine::postgres::{Mode, churn};
use crate::store::engine::{Statement, StoreError, Tx};

/// How often a migration that has to wait for a lock is tried, and the pause in between: some minutes in all.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_secs(3);

const SETUP: &str = "CREATE TABLE IF NOT EXISTS migration_lock (id BIGINT NOT NULL PRIMARY KEY);
    INSERT INTO migration_lock (id) VALUES (1), (2) ON CONFLICT (id) DO NOTHING";
/// Held by whoever applies migrations. Programs from before there was the other one wait for it in a statement.
const APPLIES: &str = "1";
const BUILDS: &str = "2";
const BOTH: &str = "1, 2";
/// How often it is looked whether a lock is free.
const POLL: Duration = Duration::from_millis(200);
const WAIT_LITTLE: &str = "SET LOCAL lock_timeout = '2s'";

const ENCODING: Statement = Statement::new("SELECT current_setting('server_encoding')");
const IS_TABLE: Statement = Statement::new(
    "SELECT CAST(1 AS BIGINT) FROM pg_class WHERE oid = to_regclass(?1) AND relkind IN ('r', 'p')",
);
/// What is built ahead, and whether that was completed.
const AHEAD: Statement = Statement::new(
    "SELECT c.relname::text, CAST(CASE WHEN i.indisvalid THEN 1 ELSE 0 END AS BIGINT)
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE c.relnamespace = current_schema()::regnamespace AND starts_with(c.relname, ?1)",
);

pub fn migrate(
    session: &mut Session,
    connector: &Connector,
    migrations: &'static [Migration],
) -> Result<(), StoreError> {
    session.open(Mode::Read, None)?;
    expect_utf8(&mut tx(session))?;
    session.be_patient(true);
    // Two servers that start at the same time may both try to create the table. The one that fails
    // finds it at the second try. The rows in it are the locks.
    let migrated = session
        .batch(SETUP)
        .or_else(|first| match session.batch(SETUP) {
            // The first error says why, such as that the server only reads.
            Err(_) if !session.is_connected() => Err(first),
            second => second,
        })
        .and_then(|()| build_ahead(session, connector, migrations))
        .and_then(|keeper| apply(session, keeper.is_some(), migrations));
    session.be_patient(false);
    migrated
}

/// In another encoding, most texts of users could not be stored. `SQL_ASCII` stores bytes as they are.
pub fn expect_utf8(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let encoding: Option<String> = tx.optional(ENCODING, &[])?;
    match encoding.as_deref() {
        Some("UTF8" | "SQL_ASCII") | None => Ok(()),
        Some(other) => Err(StoreError::Incompatible(format!(
            "the database has the encoding {other}, not UTF8: create it with ENCODING 'UTF8' TEMPLATE template0"
        ))),
    }
}

fn plan(session: &mut Session, migrations: &'static [Migration]) -> Result<Plan, StoreError> {
    let pending = migrate::pending_steps(&mut Tx::postgres(session), migrations)?;
    let texts: Vec<_> = pending.iter().map(|migration| migration.sql).collect();
    Ok(Plan::of(&texts))
}

/// Takes locks, with the transaction that holds them. Returns whether they were free.
fn try_to_take(session: &mut Session, locks: &str) -> Result<bool, StoreError> {
    // An idle transaction of this level has no snapshot that others would wait for.
    let taken = session.batch(&format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0;
         SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
         SELECT id FROM migration_lock WHERE id IN ({locks}) FOR UPDATE NOWAIT"
    ));
    if taken.is_ok() {
        return Ok(true);
    }
    session.take_failure();
    let are_held = matches!(taken, Err(StoreError::Unavailable(_))) && session.is_connected();
    // Without a connection there is nothing to undo, and why it broke is in `taken`.
    let undone = session.batch("ROLLBACK");
    if !are_held {
        return taken.map(|()| true);
    }
    undone.map(|()| false)
}

fn take(session: &mut Session, locks: &str) -> Result<(), StoreError> {
    let mut is_told = false;
    while !try_to_take(session, locks)? {
        if !is_told {
            tracing::info!("another server migrates the database: waiting for it");
            is_told = true;
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Builds what can be built before the migration, one server at a time. Returns who holds the lock: until the
/// migration is applied, nobody else may build.
fn build_ahead(
    session: &mut Session,
    connector: &Connector,
    migrations: &'static [Migration],
) -> Result<Option<Session>, StoreError> {
    // A pooler may have one connection only, and settings do not stay with ours.
    if connector.is_pooled() {
        return Ok(None);
    }
    let first = plan(session, migrations)?;
    let needed = !wanted(session, &first)?.is_empty();
    if !needed && ahead(session)?.is_empty() {
        return Ok(None);
    }
    let mut keeper = Session::new(connector.clone())?;
    keeper.open(Mode::Read, None)?;
    if needed {
        take(&mut keeper, BUILDS)?;
    } else if !try_to_take(&mut keeper, BUILDS)? {
        // What is there belongs to a server of a later version, which builds it now.
        return Ok(None);
    }
    let mut builder = Session::new(connector.clone())?;
    builder.open(Mode::Read, None)?;
    builder.be_patient(true);
    builder.batch("SET statement_timeout = 0; SET lock_timeout = 0")?;
    // Another server may have migrated meanwhile.
    let plan = plan(&mut builder, migrations)?;
    let wanted = wanted(&mut builder, &plan)?;
    build_all(&mut builder, &wanted)?;
    Ok(Some(keeper))
}

/// The indexes that can be built ahead: those of tables that are there.
fn wanted<'a>(session: &mut Session, plan: &'a Plan) -> Result<Vec<&'a Index>, StoreError> {
    let mut tables = HashMap::new();
    let mut wanted = Vec::new();
    for index in plan.indexes() {
        let name = index.table.as_str();
        if !tables.contains_key(name) {
            let found = tx(session).optional::<i64>(IS_TABLE, &[name.into()])?;
            tables.insert(name, found.is_some());
        }
        if tables[name] {
            wanted.push(index);
        }
    }
    Ok(wanted)
}

fn build_all(builder: &mut Session, wanted: &[&Index]) -> Result<(), StoreError> {
    let names: HashSet<_> = wanted.iter().map(|index| index.working_name()).collect();
    let (built, broken): (Vec<_>, Vec<_>) = ahead(builder)?
        .into_iter()
        .partition(|(name, valid)| *valid && names.contains(name));
    for (name, _) in broken {
        builder.batch(&format!("DROP INDEX CONCURRENTLY IF EXISTS {name}"))?;
    }
    for index in wanted {
        let name = index.working_name();
        if !built.iter().any(|(built, _)| *built == name) {
            build(builder, index)?;
        }
    }
    Ok(())
}

fn build(builder: &mut Session, index: &Index) -> Result<(), StoreError> {
    tracing::info!(index = index.name, "building an index");
    for _ in 1..TRIES {
        let reason = match builder.batch(&index.build()) {
            // Of two who wait for each other, the server has chosen this one.
            Err(StoreError::Collision(_)) => None,
            // A column may be missing, which a step before it adds. Then it is built in its turn.
            Err(StoreError::Failed(reason)) => Some(reason),
            done => return done,
        };
        builder.take_failure();
        let name = index.working_name();
        builder.batch(&format!("DROP INDEX CONCURRENTLY IF EXISTS {name}"))?;
        if let Some(reason) = reason {
            tracing::info!(index = index.name, reason, "built in its turn");
            return Ok(());
        }
    }
    Ok(())
}

fn ahead(session: &mut Session) -> Result<Vec<(String, bool)>, StoreError> {
    let found: Vec<(String, i64)> = tx(session).all(AHEAD, &[PREFIX.into()])?;
    let found = found.into_iter().map(|(name, valid)| (name, valid == 1));
    Ok(found.collect())
}

fn tx(session: &mut Session) -> Tx<'_> {
    Tx::postgres(session)
}

fn apply(
    session: &mut Session,
    builds: bool,
    migrations: &'static [Migration],
) -> Result<(), StoreError> {
    for _ in 1..TRIES {
        match try_to_apply(session, builds, migrations) {
            Err(StoreError::Unavailable(reason) | StoreError::Collision(reason))
                if session.is_connected() =>
            {
                tracing::warn!(reason, "the migration waits for others");
                std::thread::sleep(PAUSE);
            }
            ended => return ended,
        }
    }
    try_to_apply(session, builds, migrations)
}

fn try_to_apply(
    session: &mut Session,
    builds: bool,
    migrations: &'static [Migration],
) -> Result<(), StoreError> {
    session.open(Mode::Read, None)?;
    let is_current = plan(session, migrations)?.is_empty();
    let locks = if builds || is_current { APPLIES } else { BOTH };
    take(session, locks)?;
    let migrated = apply_locked(session, migrations);
    if migrated.is_err() {
        session.take_failure();
        let _ = session.batch("ROLLBACK");
    }
    migrated
}

fn apply_locked(session: &mut Session, migrations: &'static [Migration]) -> Result<(), StoreError> {
    let plan = plan(session, migrations)?;
    let built = ahead(session)?.into_iter().filter(|(_, valid)| *valid);
    let built = built.map(|(name, _)| name).collect();
    session.batch(WAIT_LITTLE)?;
    let mut adapted = Adapted {
        session: &mut *session,
        plan: &plan,
        built,
    };
    migrate::run(&mut adapted, migrations)?;
    session.batch(churn::CLEAN_OFTEN)?;
    session.batch("COMMIT")
}

/// The schema, where some indexes are built already.
struct Adapted<'a> {
    session: &'a mut Session,
    plan: &'a Plan,
    built: HashSet<String>,
}

impl Schema for Adapted<'_> {
    fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.session.batch(sql)
    }

    fn tx(&mut self) -> Tx<'_> {
        Tx::postgres(self.session)
    }

    fn text(&self, migration: &Migration) -> Cow<'static, str> {
        Cow::Owned(self.plan.text(migration.sql, &self.built))
    }
}
