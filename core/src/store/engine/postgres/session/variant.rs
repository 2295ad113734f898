//! What becomes of the text of a statement.

use tokio_postgres::Statement as Prepared;

use crate::store::engine::Statement;
use crate::store::engine::postgres::writes::change::RowChange;
use crate::store::engine::postgres::writes::shape::{RowInsert, numbered_with_dollar};

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    Locking(Lock),
    /// For so many sets of values.
    Rows(usize),
    /// The same, and fails unless each set of values changes a row.
    EachOf(usize),
}

impl Variant {
    /// `one` is the statement for one row, which tells the types of its values.
    pub fn text(self, statement: Statement, one: Option<&Prepared>) -> String {
        let types = one.map(Prepared::params).unwrap_or_default();
        let text = match self {
            Self::Locking(lock) => return numbered_with_dollar(statement.sql()) + lock.suffix(),
            Self::Rows(rows) => {
                let insert = RowInsert::of(statement).map(|insert| insert.text(rows, types));
                insert.or_else(|| RowChange::of(statement).map(|change| change.text(rows, types)))
            }
            Self::EachOf(rows) => {
                RowChange::of(statement).map(|change| change.checked_text(rows, types))
            }
        };
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
