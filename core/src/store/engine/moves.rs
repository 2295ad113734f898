//! What a database says about a move of itself: where it went, or where it comes from.

use crate::domain::Timestamp;
use crate::store::engine::{Row, Statement, StoreError, Tx, Value};

const TABLE: &str = "database_moves.";
const ROWS: Statement = Statement::new(
    "SELECT id, role, other_database, begun_at, finished_at FROM database_moves ORDER BY begun_at",
);
const BEGIN: Statement = Statement::new(
    "INSERT INTO database_moves (id, role, other_database, begun_at) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (id) DO UPDATE SET other_database = excluded.other_database",
);
const FINISH: Statement =
    Statement::new("UPDATE database_moves SET finished_at = ?2 WHERE id = ?1");
const FORGET: Statement = Statement::new("DELETE FROM database_moves WHERE role = 'source'");

/// What the database is in a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Source,
    Target,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Target => "target",
        }
    }
}

/// One move of this database.
#[derive(Clone, Debug)]
pub struct DatabaseMove {
    pub id: String,
    pub role: Role,
    /// The database at the other end, in words and without a password.
    pub other: String,
    pub finished_at: Option<Timestamp>,
}

impl super::FromRow for DatabaseMove {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let (id, role): (String, String) = row.next()?;
        let role = match role.as_str() {
            "source" => Role::Source,
            _ => Role::Target,
        };
        let other = row.next()?;
        let _begun_at: Timestamp = row.next()?;
        let finished_at = row.next()?;
        Ok(Self {
            id,
            role,
            other,
            finished_at,
        })
    }
}

/// The move that this database is the source of.
pub fn from_here(tx: &mut Tx<'_>) -> Result<Option<DatabaseMove>, StoreError> {
    let moves = tx.all::<DatabaseMove>(ROWS, &[])?;
    Ok(moves.into_iter().find(|m| m.role == Role::Source))
}

/// Records a move on the side that is read from. `other` is where it goes.
pub fn begin(tx: &mut Tx<'_>, id: &str, other: &str, now: Timestamp) -> Result<(), StoreError> {
    let values: [Value<'_>; 4] = [
        id.into(),
        Role::Source.as_str().into(),
        other.into(),
        now.into(),
    ];
    tx.execute(BEGIN, &values).map(drop)
}

pub fn finish(tx: &mut Tx<'_>, id: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(FINISH, &[id.into(), now.into()]).map(drop)
}

/// Whether there was a move to forget.
pub fn forget(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    Ok(tx.execute(FORGET, &[])? > 0)
}

/// An error in a database that was moved, is being moved, or is not filled yet.
pub fn refuse_if_moved(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    if !tx.schema()?.iter().any(|column| column.starts_with(TABLE)) {
        return Ok(());
    }
    let moves = tx.all::<DatabaseMove>(ROWS, &[])?;
    match moves.iter().find_map(reason_to_refuse) {
        Some(reason) => Err(StoreError::Incompatible(reason)),
        None => Ok(()),
    }
}

fn reason_to_refuse(found: &DatabaseMove) -> Option<String> {
    let other = &found.other;
    match (found.role, found.finished_at) {
        (Role::Source, Some(at)) => Some(format!(
            "this database was moved to {other} on {at}: set LEGWORK_DATABASE_URL to the new one. \
             If you must use this one again, run `legwork move --undo`"
        )),
        (Role::Source, None) => Some(format!(
            "the move of this database to {other} is not finished: run the same `legwork move` again \
             to go on, or `legwork move --undo` to give it up"
        )),
        (Role::Target, None) => Some(format!(
            "the move of {other} to this database is not finished: run the same `legwork move` again \
             to go on"
        )),
        (Role::Target, Some(_)) => None,
    }
}
