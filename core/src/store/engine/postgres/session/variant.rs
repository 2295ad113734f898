//! What becomes of the text of a statement.

use tokio_postgres::Statement as Prepared;

use crate::store::engine::Statement;
use crate::store::engine::postgres::writes::shape::{RowInsert, RowUpdate, numbered_with_dollar};

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    Locking(Lock),
    Rows(usize),
}

impl Variant {
    /// `one` is the statement for one row, which tells the types of its values.
    pub fn text(self, statement: Statement, one: Option<&Prepared>) -> String {
        let types = one.map(Prepared::params).unwrap_or_default();
        let rows = match self {
            Self::Locking(lock) => return numbered_with_dollar(statement.sql()) + lock.suffix(),
            Self::Rows(rows) => rows,
        };
        let insert = RowInsert::of(statement).map(|insert| insert.text(rows, types));
        let update = || RowUpdate::of(statement).map(|update| update.text(rows, types));
        let text = insert.or_else(update);
        text.unwrap_or_else(|| numbered_with_dollar(statement.sql()))
    }
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
