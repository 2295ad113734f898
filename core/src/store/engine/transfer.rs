//! What the two ends of a move have in common: the tables, and rows of any table.

use crate::store::engine::{RowCells, StoreError, Value};

/// Tables that are not copied: each database has its own.
pub const OWN_TABLES: [&str; 4] = [
    "migrations",
    "migration_lock",
    "database_moves",
    "database_move_tables",
];

/// A table with all its columns, as both engines have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub columns: Vec<TableColumn>,
    /// The columns of the primary key, in its order, as places in `columns`.
    pub key: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    pub name: String,
    pub kind: Kind,
}

/// The types of the shared dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Int,
    Real,
}

impl Kind {
    pub fn parse(declared: &str) -> Result<Self, StoreError> {
        match declared {
            "TEXT" => Ok(Self::Text),
            "BIGINT" => Ok(Self::Int),
            "DOUBLE PRECISION" => Ok(Self::Real),
            other => Err(StoreError::Failed(format!(
                "a column has the type {other:?}, which no table of ours has"
            ))),
        }
    }
}

impl Table {
    /// The columns, quoted, with commas between them.
    pub fn column_list(&self) -> String {
        let names = self.columns.iter().map(|column| quoted(&column.name));
        names.collect::<Vec<_>>().join(", ")
    }

    pub fn key_names(&self) -> impl Iterator<Item = &str> {
        self.key.iter().map(|at| self.columns[*at].name.as_str())
    }

    /// The columns of the key, quoted, with commas between them.
    pub fn key_list(&self) -> String {
        self.key_names().map(quoted).collect::<Vec<_>>().join(", ")
    }

    pub fn key_of(&self, row: &RowCells) -> Vec<Value<'static>> {
        self.key.iter().map(|at| row.0[*at].clone()).collect()
    }
}

pub fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// A key as a JSON array, to be stored and shown. Keys are texts and whole numbers.
pub fn key_to_json(key: &[Value<'_>]) -> String {
    let values = key.iter().map(|value| match value {
        Value::Int(int) => serde_json::Value::from(*int),
        Value::Text(text) => serde_json::Value::from(text.as_ref()),
        Value::Null | Value::Real(_) => serde_json::Value::Null,
    });
    serde_json::Value::from_iter(values).to_string()
}

pub fn key_from_json(text: &str) -> Result<Vec<Value<'static>>, StoreError> {
    let broken = || StoreError::Failed(format!("{text:?} is not the key of a row"));
    let values: Vec<serde_json::Value> = serde_json::from_str(text).map_err(|_| broken())?;
    let value = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => Some(Value::from(text)),
        serde_json::Value::Number(number) => number.as_i64().map(Value::Int),
        _ => None,
    };
    let key = values.into_iter().map(value).collect::<Option<Vec<_>>>();
    key.ok_or_else(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_being_stored() {
        let key = vec![
            Value::from("é \"quoted\" \\ 🦀"),
            Value::Int(i64::MIN),
            Value::Int(i64::MAX),
        ];
        assert_eq!(key_from_json(&key_to_json(&key)).unwrap(), key);
        assert!(key_from_json("[null]").is_err());
        assert!(key_from_json("nothing").is_err());
    }
}
