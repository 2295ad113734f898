//! Migrates the schema while other servers go on.
//!
//! Indexes are built first, and hold up nobody (`indexes.rs`). All else is one transaction. It does not wait
//! long for a lock: all who come after it would wait with it, for as long as, say, a backup reads the table. It
//! is tried again instead.

use std::borrow::Cow;
use std::collections::HashSet;
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
    INSERT INTO migration_lock (id) VALUES (1) ON CONFLICT (id) DO NOTHING";
const LOCK: &str = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
    SET LOCAL idle_in_transaction_session_timeout = 0;
    SELECT id FROM migration_lock WHERE id = 1 FOR UPDATE";
const WAIT_LITTLE: &str = "SET LOCAL lock_timeout = '2s'";

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
    session.be_patient(true);
    // Two servers that start at the same time may both try to create the table. The one that fails
    // finds it at the second try. The row in it is the lock.
    let migrated = session
        .batch(SETUP)
        .or_else(|_| session.batch(SETUP))
        .and_then(|()| plan(session, migrations))
        .and_then(|plan| {
            build_ahead(session, connector, &plan)?;
            apply(session, &plan, migrations)
        });
    session.be_patient(false);
    migrated
}

fn plan(session: &mut Session, migrations: &'static [Migration]) -> Result<Plan, StoreError> {
    let pending = migrate::pending_steps(&mut Tx::postgres(session), migrations)?;
    let texts: Vec<_> = pending.iter().map(|migration| migration.sql).collect();
    Ok(Plan::of(&texts))
}

/// Builds what can be built before the migration, one server at a time.
fn build_ahead(
    session: &mut Session,
    connector: &Connector,
    plan: &Plan,
) -> Result<(), StoreError> {
    let mut wanted = plan.indexes();
    let mut tables = HashSet::new();
    for index in &wanted {
        let name = index.table.as_str();
        if tx(session).optional::<i64>(IS_TABLE, &[name.into()])? == Some(1) {
            tables.insert(name);
        }
    }
    wanted.retain(|index| tables.contains(index.table.as_str()));
    // A pooler may have one connection only, and settings do not stay with ours.
    if wanted.is_empty() || connector.is_pooled() {
        return Ok(());
    }
    let mut keeper = Session::new(connector.clone())?;
    keeper.open(Mode::Read, None)?;
    keeper.be_patient(true);
    keeper.batch(LOCK)?;
    let mut builder = Session::new(connector.clone())?;
    builder.open(Mode::Read, None)?;
    builder.be_patient(true);
    builder.batch("SET statement_timeout = 0; SET lock_timeout = 0")?;
    build_all(&mut builder, &wanted)
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
        if built.iter().any(|(built, _)| *built == name) {
            continue;
        }
        tracing::info!(index = index.name, "building an index");
        let done = builder.batch(&index.build());
        // A column may be missing, which a step before it adds. Then it is built in its turn.
        if let Err(StoreError::Failed(reason)) = done {
            tracing::info!(index = index.name, reason, "built in its turn");
            builder.take_failure();
            builder.batch(&format!("DROP INDEX CONCURRENTLY IF EXISTS {name}"))?;
            continue;
        }
        done?;
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
    plan: &Plan,
    migrations: &'static [Migration],
) -> Result<(), StoreError> {
    for _ in 1..TRIES {
        match try_to_apply(session, plan, migrations) {
            Err(StoreError::Unavailable(reason) | StoreError::Collision(reason))
                if session.is_connected() =>
            {
                tracing::warn!(reason, "the migration waits for others");
                std::thread::sleep(PAUSE);
            }
            ended => return ended,
        }
    }
    try_to_apply(session, plan, migrations)
}

fn try_to_apply(
    session: &mut Session,
    plan: &Plan,
    migrations: &'static [Migration],
) -> Result<(), StoreError> {
    session.open(Mode::Read, None)?;
    session.batch(LOCK)?;
    let migrated = ahead(session).and_then(|ahead| {
        session.batch(WAIT_LITTLE)?;
        let built = ahead.into_iter().filter(|(_, valid)| *valid);
        let built = built.map(|(name, _)| name).collect();
        let mut adapted = Adapted {
            session: &mut *session,
            plan,
            built,
        };
        migrate::run(&mut adapted, migrations)?;
        session.batch(churn::CLEAN_OFTEN)?;
        session.batch("COMMIT")
    });
    if migrated.is_err() {
        session.take_failure();
        let _ = session.batch("ROLLBACK");
    }
    migrated
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
