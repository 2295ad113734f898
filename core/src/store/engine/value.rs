//! Values of statements and of rows, in one form for both engines.

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

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Self::Int(flag.into())
    }
}

impl<'a> From<&'a Option<String>> for Value<'a> {
    fn from(text: &'a Option<String>) -> Self {
        text.as_ref().into()
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

impl Value<'_> {
    /// Whether PostgreSQL takes it as a value of this type.
    pub fn fits(&self, wanted: &Type) -> bool {
        match self {
            Self::Null => true,
            Self::Int(_) => *wanted == Type::INT8,
            Self::Real(_) => *wanted == Type::FLOAT8,
            Self::Text(_) => *wanted == Type::TEXT,
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        wanted: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            _ if !self.fits(wanted) => Err(format!("the statement expects a {wanted}").into()),
            Self::Null => Ok(IsNull::Yes),
            Self::Int(int) => int.to_sql(wanted, out),
            Self::Real(real) => real.to_sql(wanted, out),
            Self::Text(text) => text.as_ref().to_sql(wanted, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// One value of a row.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(&'a str),
}

impl<'a> Cell<'a> {
    pub fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A row that is read from its first column to its last.
pub struct Row<'a> {
    cells: Cells<'a>,
    next: usize,
}

enum Cells<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

/// What can be read from the next columns of a row: one value, a tuple, or a struct.
pub trait FromRow: Sized {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError>;
}

impl<T: Column> FromRow for T {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let index = row.next;
        row.next += 1;
        T::read(row.cells.get(index)?).ok_or_else(|| {
            StoreError::Failed(format!("column {} has an unexpected value", index + 1))
        })
    }
}

/// A whole row, whatever its columns are.
pub struct RowCells(pub Vec<Value<'static>>);

impl FromRow for RowCells {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        let columns = row.next..row.cells.len();
        columns
            .map(|_| row.next())
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl<A: FromRow, B: FromRow> FromRow for (A, B) {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok((row.next()?, row.next()?))
    }
}

impl<A: FromRow, B: FromRow, C: FromRow> FromRow for (A, B, C) {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok((row.next()?, row.next()?, row.next()?))
    }
}

impl<'a> Row<'a> {
    pub fn sqlite(row: &'a rusqlite::Row<'a>) -> Self {
        Self::new(Cells::Sqlite(row))
    }

    pub fn postgres(row: &'a tokio_postgres::Row) -> Self {
        Self::new(Cells::Postgres(row))
    }

    /// Without its first columns.
    pub fn after(mut self, columns: usize) -> Self {
        self.next = columns;
        self
    }

    fn new(cells: Cells<'a>) -> Self {
        Self { cells, next: 0 }
    }

    /// Reads the next column, or as many as a struct has.
    pub fn next<T: FromRow>(&mut self) -> Result<T, StoreError> {
        T::from_row(self)
    }

    /// Reads the rest of a row of a LEFT JOIN. None if its first column is NULL: nothing was joined.
    pub fn joined<T: FromRow>(&mut self) -> Result<Option<T>, StoreError> {
        if matches!(self.cells.get(self.next)?, Cell::Null) {
            self.next = self.cells.len();
            return Ok(None);
        }
        self.next().map(Some)
    }

    /// Reads the whole row. A statement that selects more or fewer columns than are read is a bug.
    pub fn read<T: FromRow>(mut self) -> Result<T, StoreError> {
        let read = self.next()?;
        if self.next == self.cells.len() {
            Ok(read)
        } else {
            Err(StoreError::Failed(format!(
                "{} of {} columns were read",
                self.next,
                self.cells.len()
            )))
        }
    }
}

impl Cells<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Sqlite(row) => row.as_ref().column_count(),
            Self::Postgres(row) => row.len(),
        }
    }

    fn get(&self, index: usize) -> Result<Cell<'_>, StoreError> {
        match self {
            Self::Sqlite(row) => {
                let cell = row
                    .get_ref(index)
                    .map_err(|e| StoreError::Failed(e.to_string()))?;
                Ok(match cell {
                    ValueRef::Null => Cell::Null,
                    ValueRef::Integer(int) => Cell::Int(int),
                    ValueRef::Real(real) => Cell::Real(real),
                    ValueRef::Text(text) => Cell::Text(
                        std::str::from_utf8(text).map_err(|e| StoreError::Failed(e.to_string()))?,
                    ),
                    ValueRef::Blob(_) => {
                        return Err(StoreError::Failed("a column holds a blob".into()));
                    }
                })
            }
            Self::Postgres(row) => postgres_cell(row, index),
        }
    }
}

fn postgres_cell(row: &tokio_postgres::Row, index: usize) -> Result<Cell<'_>, StoreError> {
    let error =
        |e: &dyn std::fmt::Display| StoreError::Failed(format!("column {}: {e}", index + 1));
    let column = row.columns().get(index);
    let kind = column.ok_or_else(|| error(&"not selected"))?.type_();
    let cell = if *kind == Type::INT8 {
        row.try_get::<_, Option<i64>>(index)
            .map(|int| int.map(Cell::Int))
    } else if *kind == Type::FLOAT8 {
        row.try_get::<_, Option<f64>>(index)
            .map(|real| real.map(Cell::Real))
    } else {
        row.try_get::<_, Option<&str>>(index)
            .map(|text| text.map(Cell::Text))
    };
    cell.map(|cell| cell.unwrap_or(Cell::Null))
        .map_err(|e| error(&e))
}

/// A type that a column can be read as.
pub trait Column: Sized {
    fn read(cell: Cell<'_>) -> Option<Self>;
}

impl Column for Value<'static> {
    fn read(cell: Cell<'_>) -> Option<Self> {
        Some(match cell {
            Cell::Null => Self::Null,
            Cell::Int(int) => Self::Int(int),
            Cell::Real(real) => Self::Real(real),
            Cell::Text(text) => Self::Text(Cow::Owned(text.to_owned())),
        })
    }
}

impl Column for i64 {
    fn read(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Int(int) => Some(int),
            _ => None,
        }
    }
}

impl Column for bool {
    fn read(cell: Cell<'_>) -> Option<Self> {
        i64::read(cell).map(|int| int != 0)
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
        cell.text().map(str::to_owned)
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
