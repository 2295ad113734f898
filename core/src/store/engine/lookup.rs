//! A row that is found by its key, as data: which statement, which values, what is read from the row.
//! An engine can send several of them together, which it cannot do with functions.

use std::marker::PhantomData;

use crate::store::engine::{FromRow, Statement, Value};

/// Finds at most one row. Values are texts and integers, and never NULL.
pub struct Lookup<T> {
    pub(super) statement: Statement,
    pub(super) values: Vec<Value<'static>>,
    /// Whether it is all that a request asks. Otherwise it tells who asks, and a transaction follows.
    pub(super) is_all: bool,
    row: PhantomData<fn() -> T>,
}

impl<T: FromRow> Lookup<T> {
    pub(in crate::store) fn new(statement: Statement, values: Vec<Value<'static>>) -> Self {
        Self {
            statement,
            values,
            is_all: false,
            row: PhantomData,
        }
    }

    pub(in crate::store) fn and_nothing_else(self) -> Self {
        Self {
            is_all: true,
            ..self
        }
    }
}
