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
    /// All tables that the statement reads, by the names that it gives them. Of each it reads one row at most.
    pub(super) tables: &'static [(&'static str, KeptTable)],
    pub(super) share: fn(&T) -> Arc<dyn Any + Send + Sync>,
    pub(super) copy: fn(&T) -> T,
}

/// The tables whose rows may be kept. What changes in others is not noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeptTable {
    Accounts,
    ApiKeys,
    Mandates,
    Tasks,
}

impl KeptTable {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "accounts" => Self::Accounts,
            "api_keys" => Self::ApiKeys,
            "mandates" => Self::Mandates,
            "tasks" => Self::Tasks,
            _ => return None,
        })
    }
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

    /// Another one, by the same values and one more.
    pub(in crate::store) fn and<U: FromRow>(
        mut self,
        statement: Statement,
        value: Value<'static>,
    ) -> Lookup<U> {
        self.values.push(value);
        Lookup::new(statement, self.values)
    }

    /// It may be kept. The statement reads these tables, and no others, under these names.
    pub(in crate::store) fn kept(self, tables: &'static [(&'static str, KeptTable)]) -> Self
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
