//! Writes that are kept back, so that they travel together.
//!
//! In a batch they are kept until a statement comes that might notice, or until the commit. Then rows
//! for the same table are inserted by one statement.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::Statement as Prepared;

use crate::store::engine::postgres::shape::{RowInsert, may_overtake, order_matters};
use crate::store::engine::{Statement, Value};

type Values = Vec<Value<'static>>;

pub struct Deferred {
    pub statement: Statement,
    pub prepared: Prepared,
    pub values: Values,
}

/// Writes of the same statement that run together.
pub struct Group {
    pub statement: Statement,
    pub prepared: Prepared,
    pub rows: Vec<Values>,
    pub insert: Option<Arc<RowInsert>>,
}

impl Group {
    /// The rows in portions, each as large as a statement takes: powers of two, so that there are few
    /// different statements to prepare.
    pub fn portions(&mut self) -> Vec<Vec<Values>> {
        let most = self.insert.as_ref().map_or(1, |insert| insert.most_rows());
        let mut portions = Vec::new();
        let mut rows = std::mem::take(&mut self.rows).into_iter();
        while rows.len() > 0 {
            let size = most.min(1 << rows.len().ilog2());
            portions.push(rows.by_ref().take(size).collect());
        }
        portions
    }
}

/// What is known about statements. The text of a statement never changes, so it stays true.
#[derive(Default)]
pub struct Shapes {
    inserts: HashMap<Address, Option<Arc<RowInsert>>>,
    ordered: HashMap<(Address, Address), bool>,
}

/// The texts are constants, so an address stands for the text. It is quicker to compare.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    start: usize,
    length: usize,
}

impl Address {
    pub fn of(statement: Statement) -> Self {
        let sql = statement.sql();
        Self {
            start: sql.as_ptr() as usize,
            length: sql.len(),
        }
    }
}

impl Shapes {
    fn insert(&mut self, statement: Statement) -> Option<Arc<RowInsert>> {
        let insert = || RowInsert::of(statement).map(Arc::new);
        let known = self.inserts.entry(Address::of(statement));
        known.or_insert_with(insert).clone()
    }

    fn order_matters(&mut self, one: Statement, other: Statement) -> bool {
        let key = (Address::of(one), Address::of(other));
        let known = self.ordered.entry(key);
        *known.or_insert_with(|| order_matters(one, other))
    }

    /// Whether a statement may run before these.
    pub fn may_overtake(&mut self, statement: Statement, deferred: &[Deferred]) -> bool {
        may_overtake(statement)
            && deferred
                .iter()
                .all(|earlier| !self.order_matters(statement, earlier.statement))
    }

    /// Brings rows for the same table together. An insert goes ahead of other inserts, and of writes
    /// that have nothing to do with its table.
    pub fn group(&mut self, deferred: Vec<Deferred>) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for write in deferred {
            let insert = self.insert(write.statement);
            if insert.is_some()
                && let Some(group) = self.group_for(&mut groups, write.statement)
            {
                group.rows.push(write.values);
                continue;
            }
            groups.push(Group {
                statement: write.statement,
                prepared: write.prepared,
                rows: vec![write.values],
                insert,
            });
        }
        groups
    }

    fn group_for<'g>(
        &mut self,
        groups: &'g mut [Group],
        statement: Statement,
    ) -> Option<&'g mut Group> {
        for group in groups.iter_mut().rev() {
            if Address::of(group.statement) == Address::of(statement) {
                return Some(group);
            }
            if group.insert.is_none() && self.order_matters(statement, group.statement) {
                return None;
            }
        }
        None
    }
}
