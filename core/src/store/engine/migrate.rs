//! Migrates a database to the schema of this program, in one transaction, under a lock that the
//! engine takes. Refuses a database that a newer program has migrated.

use std::borrow::Cow;

use crate::store::engine::{Statement, StoreError, Tx, Value, moves};

/// One step of the schema. A released step is never edited: databases store its fingerprint.
#[derive(Debug)]
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sql: &'static str,
}

/// What migrations need of an engine, which holds the lock meanwhile.
pub trait Schema {
    fn batch(&mut self, sql: &str) -> Result<(), StoreError>;
    fn tx(&mut self) -> Tx<'_>;

    /// What is run for a migration.
    fn text(&self, migration: &Migration) -> Cow<'static, str> {
        Cow::Borrowed(migration.sql)
    }
}

pub const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS migrations (
    version BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL
)";

const APPLIED: Statement =
    Statement::new("SELECT version, name, fingerprint FROM migrations ORDER BY version");
const RECORD: Statement =
    Statement::new("INSERT INTO migrations (version, name, fingerprint) VALUES (?1, ?2, ?3)");

struct Applied {
    version: i64,
    name: String,
    fingerprint: String,
}

pub fn run(schema: &mut dyn Schema, known: &[Migration]) -> Result<(), StoreError> {
    schema.batch(CREATE_TABLE)?;
    let applied = applied(&mut schema.tx())?;
    for done in &applied {
        check(done, known)?;
    }
    let newest = applied.last().map_or(0, |done| done.version);
    for migration in known.iter().filter(|m| m.version > newest) {
        let text = schema.text(migration);
        schema.batch(&text)?;
        let fingerprint = fingerprint(migration);
        schema.tx().defer(
            RECORD,
            &[
                Value::Int(migration.version),
                migration.name.into(),
                fingerprint.into(),
            ],
        )?;
        tracing::info!(
            version = migration.version,
            name = migration.name,
            "migrated"
        );
    }
    moves::refuse_if_moved(&mut schema.tx())
}

/// How many steps are still to be applied. An error if the database is not one for this program.
pub fn pending(tx: &mut Tx<'_>, known: &[Migration]) -> Result<usize, StoreError> {
    let lacking = lacking(tx, known)?;
    moves::refuse_if_moved(tx)?;
    Ok(lacking)
}

/// The steps that are still to be applied.
pub fn pending_steps(
    tx: &mut Tx<'_>,
    known: &'static [Migration],
) -> Result<Vec<&'static Migration>, StoreError> {
    let newest = known_steps(tx, known)?
        .last()
        .map_or(0, |done| done.version);
    Ok(known.iter().filter(|step| step.version > newest).collect())
}

/// Like `pending`, also for a database that was moved.
pub fn lacking(tx: &mut Tx<'_>, known: &[Migration]) -> Result<usize, StoreError> {
    Ok(known.len() - known_steps(tx, known)?.len())
}

/// The last step that was applied; an error if there is none.
pub fn newest(tx: &mut Tx<'_>, known: &[Migration]) -> Result<i64, StoreError> {
    let last = known_steps(tx, known)?.pop();
    last.map(|done| done.version)
        .ok_or_else(|| StoreError::Incompatible("this is not a database of legwork".into()))
}

/// The steps that were applied. This program must know them all.
fn known_steps(tx: &mut Tx<'_>, known: &[Migration]) -> Result<Vec<Applied>, StoreError> {
    let has_table = tx.schema()?.iter().any(|c| c.starts_with("migrations."));
    let applied = if has_table { applied(tx)? } else { vec![] };
    for done in &applied {
        check(done, known)?;
    }
    Ok(applied)
}

fn applied(tx: &mut Tx<'_>) -> Result<Vec<Applied>, StoreError> {
    let rows = tx.all(APPLIED, &[])?.into_iter();
    let applied = rows.map(|(version, name, fingerprint)| Applied {
        version,
        name,
        fingerprint,
    });
    Ok(applied.collect())
}

fn check(done: &Applied, known: &[Migration]) -> Result<(), StoreError> {
    let Some(migration) = known.iter().find(|m| m.version == done.version) else {
        let newest = known.last().map_or(0, |m| m.version);
        return Err(StoreError::Incompatible(format!(
            "the database was migrated by a newer legwork (step {} \"{}\"; this one knows steps up to {newest}): \
             run that version, or restore a backup made before the upgrade",
            done.version, done.name
        )));
    };
    if fingerprint(migration) != done.fingerprint {
        return Err(StoreError::Incompatible(format!(
            "step {} \"{}\" of the database differs from the one this legwork knows",
            done.version, done.name
        )));
    }
    Ok(())
}

fn fingerprint(migration: &Migration) -> String {
    crate::domain::accounts::api_key::hash(migration.sql)
}
