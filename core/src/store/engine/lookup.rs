//! A row that is found by its key, as data: which statement, which values, what is read from the row.
//! An engine can send several of them together, which it cannot do with functions.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::store::engine::{FromRow, Statement, Value};

/// Finds at most one row. Values are texts and integers, and never NULL.
pub struct Lookup<T> {
    pub(super) statement: Statement,
    pub(super) values: Vec<Value<'static>>,
    /// Whether it is all that a request asks. Otherwise it tells who asks, and a transaction follows.
    pub(super) is_all: bool,
    /// How it may be kept, if it may.
    pub(super) keep: Option<Keep<T>>,
    row: PhantomData<fn() -> T>,
}

/// How an engine may keep a row that it has found, until it changes.
pub struct Keep<T> {
    /// Every table that the statement reads, by the name that it gives it there. It finds the row by all that it reads
    /// of them: no other row would be found instead.
    pub(super) tables: &'static [(&'static str, &'static str)],
    pub(super) share: fn(&T) -> Arc<dyn Any + Send + Sync>,
    pub(super) copy: fn(&T) -> T,
}

impl<T: FromRow> Lookup<T> {
    pub(in crate::store) fn new(statement: Statement, values: Vec<Value<'static>>) -> Self {
        Self {
            statement,
            values,
            is_all: false,
            keep: None,
            row: PhantomData,
        }
    }

    pub(in crate::store) fn and_nothing_else(self) -> Self {
        Self {
            is_all: true,
            ..self
        }
    }

    /// It may be kept. The statement reads these tables, and no others, under these names.
    pub(in crate::store) fn kept(self, tables: &'static [(&'static str, &'static str)]) -> Self
    where
        T: Clone + Send + Sync + 'static,
    {
        let keep = Keep {
            tables,
            share: |row: &T| Arc::new(row.clone()) as Arc<dyn Any + Send + Sync>,
            copy: T::clone,
        };
        Self {
            keep: Some(keep),
            ..self
        }
    }
}
