//! Values on their way into statements and out of rows, alike for both engines.

use std::borrow::Cow;

use bytes::BytesMut;
use rusqlite::types::{ToSqlOutput, ValueRef};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::domain::Timestamp;
use crate::store::engine::StoreError;

#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(Cow<'a, str>),
}

impl Value<'_> {
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Int(int) => Value::Int(int),
            Self::Real(real) => Value::Real(real),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
        }
    }
}

impl From<i64> for Value<'_> {
    fn from(int: i64) -> Self {
        Self::Int(int)
    }
}

impl From<f64> for Value<'_> {
    fn from(real: f64) -> Self {
        Self::Real(real)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(at: Timestamp) -> Self {
        Self::Int(at.as_millis())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(int) => ValueRef::Integer(*int),
            Self::Real(real) => ValueRef::Real(*real),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        wanted: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(int) if *wanted == Type::INT8 => int.to_sql(wanted, out),
            Self::Real(real) if *wanted == Type::FLOAT8 => real.to_sql(wanted, out),
            Self::Text(text) if *wanted == Type::TEXT => text.as_ref().to_sql(wanted, out),
            _ => Err(format!("the statement wants a {wanted}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// One cell of a row.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'a str),
}

pub enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    pub fn get<T: Column>(&self, index: usize) -> Result<T, StoreError> {
        let cell = self.cell(index)?;
        T::read(cell)
            .ok_or_else(|| StoreError::Failed(format!("column {index} holds an unexpected value")))
    }

    /// A column that holds one of a closed set of words, or an id.
    pub fn parse<T>(
        &self,
        index: usize,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let unexpected =
            || StoreError::Failed(format!("column {index} holds a word that is not known"));
        match self.cell(index)? {
            Cell::Text(text) => parse(text).ok_or_else(unexpected),
            _ => Err(unexpected()),
        }
    }

    fn cell(&self, index: usize) -> Result<Cell<'_>, StoreError> {
        match self {
            Self::Sqlite(row) => {
                let cell = row
                    .get_ref(index)
                    .map_err(crate::store::engine::sqlite::error)?;
                Ok(match cell {
                    ValueRef::Null => Cell::Null,
                    ValueRef::Integer(int) => Cell::Int(int),
                    ValueRef::Real(real) => Cell::Real(real),
                    ValueRef::Text(text) => Cell::Text(
                        std::str::from_utf8(text).map_err(|e| StoreError::Failed(e.to_string()))?,
                    ),
                    ValueRef::Blob(_) => return Err(StoreError::Failed("a blob".into())),
                })
            }
            Self::Postgres(row) => postgres_cell(row, index)
                .map_err(|e| StoreError::Failed(format!("column {index}: {e}"))),
        }
    }
}

fn postgres_cell(
    row: &tokio_postgres::Row,
    index: usize,
) -> Result<Cell<'_>, tokio_postgres::Error> {
    let kind = row.columns()[index].type_();
    Ok(if *kind == Type::INT8 {
        row.try_get::<_, Option<i64>>(index)?
            .map_or(Cell::Null, Cell::Int)
    } else if *kind == Type::FLOAT8 {
        row.try_get::<_, Option<f64>>(index)?
            .map_or(Cell::Null, Cell::Real)
    } else {
        row.try_get::<_, Option<&str>>(index)?
            .map_or(Cell::Null, Cell::Text)
    })
}

/// A type that a column can be read as.
pub trait Column: Sized {
    fn read(cell: Cell<'_>) -> Option<Self>;
}

impl Column for i64 {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Int(int) => Some(int),
            _ => None,
        }
    }
}

impl Column for f64 {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Real(real) => Some(real),
            _ => None,
        }
    }
}

impl Column for String {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl Column for Timestamp {
    fn read(cell: Cell<'_>) -> Option<Self> {
        i64::read(cell).map(Self::from_millis)
    }
}

impl<T: Column> Column for Option<T> {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Null => Some(None),
            cell => T::read(cell).map(Some),
        }
    }
}
