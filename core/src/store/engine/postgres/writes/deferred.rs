//! Writes that are kept back, so that they travel together.
//!
//! In a batch they are kept until a statement comes that might notice, or until the commit. Then rows
//! for the same table are inserted by one statement.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tokio_postgres::Statement as Prepared;
use tokio_postgres::error::SqlState;

use crate::store::engine::postgres::pipeline::Answer;
use crate::store::engine::postgres::writes::shape::{
    RowInsert, RowUpdate, must_follow, order_matters,
};
use crate::store::engine::{Statement, Value};

type Values = Vec<Value<'static>>;

pub struct Deferred {
    pub statement: Statement,
    pub prepared: Prepared,
    pub values: Values,
    pub order: Order,
    pub expected: Expected,
}

/// What a write must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    Anything,
    /// Change one row. Otherwise the transaction is a collision. Some of its values may be added to what is
    /// there: two that differ in nothing else are one, with the sums.
    OneRow {
        added: Option<Range<usize>>,
    },
    /// Change a row for each set of values. Otherwise it fails: with the error of a division by zero.
    EachRow,
}

impl Expected {
    /// Other errors tell nothing about it.
    pub fn is_met(&self, answer: &Result<Answer, tokio_postgres::Error>) -> bool {
        match (self, answer) {
            (Self::OneRow { .. }, Ok(answer)) => answer.changed == 1,
            (Self::EachRow, Err(error)) => error.code() != Some(&SqlState::DIVISION_BY_ZERO),
            _ => true,
        }
    }
}

/// When a write is sent, compared with the others of its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// After those before it, if they may notice.
    InTurn,
    /// At the end, by key: batches that write the same rows lock them in the same order, and not for
    /// long.
    Last,
    /// The same, and two that differ in the last value alone are one, with the lesser value.
    Least,
}

impl Deferred {
    /// By statement and key.
    fn compare(&self, other: &Self) -> Ordering {
        let texts = self.statement.sql().cmp(other.statement.sql());
        let values = self.values.iter().zip(&other.values);
        values.fold(texts, |order, (one, other)| {
            order.then_with(|| match (one, other) {
                (Value::Text(one), Value::Text(other)) => one.cmp(other),
                (Value::Int(one), Value::Int(other)) => one.cmp(other),
                _ => Ordering::Equal,
            })
        })
    }
}

/// Those that are kept back, in order.
#[derive(Default)]
pub struct Writes {
    list: Vec<Deferred>,
    /// The different statements among them, and perhaps some that were taken out again.
    kinds: Vec<Statement>,
}

impl Writes {
    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn push(&mut self, write: Deferred) {
        if write.order == Order::Least && self.lessen(&write) {
            return;
        }
        let address = Address::of(write.statement);
        if !self.kinds.iter().any(|kind| Address::of(*kind) == address) {
            self.kinds.push(write.statement);
        }
        self.list.push(write);
    }

    /// Whether there is one that does the same, perhaps later.
    fn lessen(&mut self, write: &Deferred) -> bool {
        let Some((last, key)) = write.values.split_last() else {
            return false;
        };
        let address = Address::of(write.statement);
        let mut alike = self.list.iter_mut().filter_map(|other| {
            let same = other.order == Order::Least && Address::of(other.statement) == address;
            let (other_last, other_key) = other.values.split_last_mut()?;
            (same && *other_key == *key).then_some(other_last)
        });
        match (alike.next(), last) {
            (Some(Value::Int(other)), Value::Int(int)) => {
                *other = (*other).min(*int);
                true
            }
            _ => false,
        }
    }

    /// Whether a commit has to wait for the answer of one of them.
    pub fn have_expectations(&self) -> bool {
        let expects = |write: &Deferred| matches!(write.expected, Expected::OneRow { .. });
        self.list.iter().any(expects)
    }

    pub fn truncate(&mut self, length: usize) {
        self.list.truncate(length);
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.kinds.clear();
    }

    pub fn take(&mut self) -> Vec<Deferred> {
        self.kinds.clear();
        std::mem::take(&mut self.list)
    }

    /// Puts back what was taken.
    pub fn put_back(&mut self, list: Vec<Deferred>) {
        self.list = list;
    }

    /// Takes out those that may be sent after a statement, and tells how many of them were among the first
    /// `earlier`. One that is sent before the statement keeps those with it that it must follow.
    pub fn hold_back(
        &mut self,
        earlier: usize,
        statement: Statement,
        mut must_follow: impl FnMut(Statement, Statement) -> bool,
    ) -> (Vec<Deferred>, usize) {
        let mut held = Vec::new();
        let mut held_earlier = 0;
        let mut sent: Vec<Statement> = Vec::new();
        let list = std::mem::take(&mut self.list);
        for (at, write) in list.into_iter().enumerate().rev() {
            let mut after = sent.iter().filter(|_| write.order == Order::InTurn);
            let needed = must_follow(statement, write.statement)
                || after.any(|later| must_follow(*later, write.statement));
            if needed {
                if !sent
                    .iter()
                    .any(|kind| Address::of(*kind) == Address::of(write.statement))
                {
                    sent.push(write.statement);
                }
                self.list.push(write);
            } else {
                held_earlier += usize::from(at < earlier);
                held.push(write);
            }
        }
        self.list.reverse();
        held.reverse();
        (held, held_earlier)
    }
}

/// Writes of the same statement that run together.
pub struct Group {
    pub statement: Statement,
    pub prepared: Prepared,
    pub rows: Vec<Values>,
    pub insert: Option<Arc<RowInsert>>,
    pub expected: Expected,
    /// The most of them that one statement takes.
    most: usize,
}

impl Group {
    /// Adds what a write adds: to those before it that differ in nothing else, or as another row.
    fn add(&mut self, values: Values, added: Range<usize>) {
        let rest = |row: &Values| {
            (row[..added.start] == values[..added.start]) && row[added.end..] == values[added.end..]
        };
        let mut alike = self.rows.iter_mut().filter(|row| rest(row));
        if let Some(row) = alike.next()
            && let Some(sums) = sums(&row[added.clone()], &values[added.clone()])
        {
            row.splice(added, sums);
        } else {
            self.rows.push(values);
        }
    }

    /// The rows in portions, each as large as a statement takes: powers of two, so that there are few
    /// different statements to prepare.
    pub fn portions(&mut self) -> Vec<Vec<Values>> {
        let mut portions = Vec::new();
        let mut rows = std::mem::take(&mut self.rows).into_iter();
        while rows.len() > 0 {
            let size = self.most.min(1 << rows.len().ilog2());
            portions.push(rows.by_ref().take(size).collect());
        }
        portions
    }
}

/// None if one is no integer, or too large.
fn sums(some: &[Value<'_>], others: &[Value<'_>]) -> Option<Values> {
    let sum = |pair: (&Value<'_>, &Value<'_>)| match pair {
        (Value::Int(one), Value::Int(other)) => one.checked_add(*other).map(Value::Int),
        _ => None,
    };
    some.iter().zip(others).map(sum).collect()
}

/// What is known about statements. The text of a statement never changes, so it stays true.
#[derive(Default)]
pub struct Shapes {
    inserts: HashMap<Address, Option<Arc<RowInsert>>>,
    /// For how many rows one statement adds.
    updates: HashMap<Address, Option<usize>>,
    ordered: HashMap<(Address, Address), bool>,
    following: HashMap<(Address, Address), bool>,
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

    pub fn order_matters(&mut self, one: Statement, other: Statement) -> bool {
        let key = (Address::of(one), Address::of(other));
        let known = self.ordered.entry(key);
        *known.or_insert_with(|| order_matters(one, other))
    }

    pub fn must_follow(&mut self, later: Statement, earlier: Statement) -> bool {
        let key = (Address::of(later), Address::of(earlier));
        let known = self.following.entry(key);
        *known.or_insert_with(|| must_follow(later, earlier))
    }

    /// Whether a statement may run before these.
    pub fn may_overtake(&mut self, statement: Statement, deferred: &Writes) -> bool {
        let mut kinds = deferred.kinds.iter();
        kinds.all(|earlier| !self.must_follow(statement, *earlier))
    }

    /// Brings rows for the same table together. An insert goes ahead of other inserts, and of writes
    /// that have nothing to do with its table.
    pub fn group(&mut self, deferred: Vec<Deferred>) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let (in_turn, mut last): (Vec<_>, Vec<_>) = deferred
            .into_iter()
            .partition(|write| write.order == Order::InTurn);
        last.sort_by(Deferred::compare);
        for write in in_turn.into_iter().chain(last) {
            let insert = self.insert(write.statement);
            if let Some(insert) = &insert
                && let Some(group) = self.group_for(&mut groups, write.statement, insert)
            {
                group.rows.push(write.values);
                continue;
            }
            let update = self.update(&write);
            if let Some((added, _)) = &update
                && let Some(group) = self.group_of_same(&mut groups, write.statement)
            {
                group.add(write.values, added.clone());
                continue;
            }
            let most = insert.as_ref().map(|insert| insert.most_rows());
            groups.push(Group {
                statement: write.statement,
                prepared: write.prepared,
                rows: vec![write.values],
                insert,
                most: most.or(update.as_ref().map(|(_, most)| *most)).unwrap_or(1),
                expected: update.map_or(write.expected, |_| Expected::EachRow),
            });
        }
        groups
    }

    /// Which values a write adds to its row, and for how many rows one statement does it.
    fn update(&mut self, write: &Deferred) -> Option<(Range<usize>, usize)> {
        let Expected::OneRow { added: Some(added) } = &write.expected else {
            return None;
        };
        let most = || RowUpdate::of(write.statement).map(|update| update.most_rows());
        let known = self.updates.entry(Address::of(write.statement));
        known.or_insert_with(most).map(|most| (added.clone(), most))
    }

    /// Those of the same statement, if nothing after them might notice.
    fn group_of_same<'g>(
        &mut self,
        groups: &'g mut [Group],
        statement: Statement,
    ) -> Option<&'g mut Group> {
        let same = |group: &Group| Address::of(group.statement) == Address::of(statement);
        let notices = |group: &Group| same(group) || self.order_matters(statement, group.statement);
        let last = groups.iter().rposition(notices)?;
        groups.get_mut(last).filter(|group| same(group))
    }

    fn group_for<'g>(
        &mut self,
        groups: &'g mut [Group],
        statement: Statement,
        insert: &RowInsert,
    ) -> Option<&'g mut Group> {
        let plain = |insert: &RowInsert| insert.only_inserts();
        for group in groups.iter_mut().rev() {
            if Address::of(group.statement) == Address::of(statement) {
                return Some(group);
            }
            let both_insert = plain(insert) && group.insert.as_deref().is_some_and(plain);
            if !both_insert && self.order_matters(statement, group.statement) {
                return None;
            }
        }
        None
    }
}
