//! Writes that are kept back, so that they travel together.
//!
//! In a batch they are kept until a statement comes that might notice, or until the commit. Then rows
//! of the same table are inserted, changed or deleted by one statement.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tokio_postgres::Statement as Prepared;
use tokio_postgres::error::SqlState;

use crate::store::engine::postgres::pipeline::{Answer, Step};
use crate::store::engine::postgres::writes::change::RowChange;
use crate::store::engine::postgres::writes::shape::{
    RowInsert, must_follow, order_matters, size_for,
};
use crate::store::engine::{Statement, Value};

type Values = Vec<Value<'static>>;

pub struct Deferred {
    pub statement: Statement,
    pub prepared: Prepared,
    pub values: Values,
    pub order: Order,
    pub expected: Expected,
    /// These of its values are added to what is there: two that differ in nothing else are one, with the sums.
    pub added: Option<Range<usize>>,
}

/// What a write must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Anything,
    /// Change one row. Otherwise the transaction is a collision.
    OneRow,
    /// Change a row for each set of values. Otherwise it fails: with the error of a division by zero.
    EachRow,
}

/// The row of a table with this value in a column, and no other.
#[derive(Clone, Copy)]
pub struct OneOf<'v> {
    pub table: &'static str,
    pub column: &'static str,
    pub value: &'v Value<'v>,
}

impl Expected {
    /// Other errors tell nothing about it.
    pub fn is_met(self, answer: &Result<Answer, tokio_postgres::Error>) -> bool {
        match (self, answer) {
            (Self::OneRow, Ok(answer)) => answer.changed == 1,
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
        let expects = |write: &Deferred| write.expected == Expected::OneRow;
        self.list.iter().any(expects)
    }

    /// Whether all of them can be sent.
    pub fn fit(&self) -> bool {
        let mut writes = self.list.iter();
        writes.all(|write| Step::Statement(&write.prepared, &write.values).fits())
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

    /// Takes out those that may be sent after a statement, which reads one row if it says so, and tells how many of
    /// them were among the first `earlier`. One that is sent before the statement keeps those with it that it must
    /// follow.
    pub fn hold_back(
        &mut self,
        earlier: usize,
        (statement, one): (Statement, Option<OneOf<'_>>),
        shapes: &mut Shapes,
    ) -> (Vec<Deferred>, usize) {
        let mut held = Vec::new();
        let mut held_earlier = 0;
        let mut sent: Vec<Statement> = Vec::new();
        let list = std::mem::take(&mut self.list);
        for (at, write) in list.into_iter().enumerate().rev() {
            let mut after = sent.iter().filter(|_| write.order == Order::InTurn);
            let needed = shapes.notices(statement, one, &write)
                || after.any(|later| shapes.must_follow(*later, write.statement));
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
    pub expected: Expected,
    shape: Shape,
}

/// How several of a statement become one.
#[derive(Clone)]
enum Shape {
    Insert(Arc<RowInsert>),
    Change(Arc<RowChange>),
    /// They do not.
    Other,
}

impl Shape {
    fn of(statement: Statement) -> Self {
        let insert = RowInsert::of(statement).map(|insert| Self::Insert(Arc::new(insert)));
        let change = || RowChange::of(statement).map(|change| Self::Change(Arc::new(change)));
        insert.or_else(change).unwrap_or(Self::Other)
    }

    /// The table that it writes.
    fn table(&self) -> Option<&'static str> {
        match self {
            Self::Insert(insert) => Some(insert.table()),
            Self::Change(change) => Some(change.table),
            Self::Other => None,
        }
    }

    /// The value of a column of the key.
    fn key_value<'v>(&self, column: &str, values: &'v [Value<'_>]) -> Option<&'v Value<'v>> {
        match self {
            Self::Insert(insert) => insert.key_value(column, values),
            Self::Change(change) => change.key_value(column, values),
            Self::Other => None,
        }
    }

    /// Whether it writes another row of the table.
    fn writes_another(&self, values: &[Value<'_>], one: OneOf<'_>) -> bool {
        let value = self.key_value(one.column, values);
        self.table() == Some(one.table) && value.is_some_and(|value| value != one.value)
    }

    /// The most of them that become one.
    fn most_rows(&self) -> usize {
        match self {
            Self::Insert(insert) => insert.most_rows(),
            Self::Change(change) => change.most_rows(),
            Self::Other => 1,
        }
    }
}

impl Group {
    fn new(write: Deferred, shape: Shape) -> Self {
        let expected = match (&shape, write.expected) {
            (Shape::Change(_), Expected::OneRow) => Expected::EachRow,
            (_, expected) => expected,
        };
        Self {
            statement: write.statement,
            prepared: write.prepared,
            rows: vec![write.values],
            expected,
            shape,
        }
    }

    /// Whether no row would be written twice by one statement.
    fn takes(&self, write: &Deferred) -> bool {
        let mut rows = self.rows.iter();
        match &self.shape {
            Shape::Insert(insert) => write.added.is_some() || !insert.adds(),
            Shape::Change(change) => {
                let added = write.added.as_ref();
                added.is_some_and(|added| rows.clone().any(|row| alike(row, &write.values, added)))
                    || rows.all(|row| change.differ(row, &write.values))
            }
            Shape::Other => false,
        }
    }

    /// Whether it writes other rows of the same table than these values of a change.
    fn leaves_alone(&self, change: &RowChange, values: &[Value<'_>]) -> bool {
        let mut key = change.key(values).map(|(column, value)| OneOf {
            table: change.table,
            column,
            value,
        });
        key.any(|one| {
            let mut rows = self.rows.iter();
            rows.all(|row| self.shape.writes_another(row, one))
        })
    }

    fn take(&mut self, write: Deferred) {
        match write.added {
            Some(added) => self.add(write.values, added),
            None => self.rows.push(write.values),
        }
    }

    /// Adds what a write adds: to those before it that differ in nothing else, or as another row.
    fn add(&mut self, values: Values, added: Range<usize>) {
        let mut rows = self.rows.iter_mut();
        if let Some(row) = rows.find(|row| alike(row, &values, &added))
            && let Some(sums) = sums(&row[added.clone()], &values[added.clone()])
        {
            row.splice(added, sums);
        } else {
            self.rows.push(values);
        }
    }

    /// The rows in portions, each as large as a statement takes. There are few sizes, so that there are few different
    /// statements to prepare.
    pub fn portions(&mut self) -> Vec<Vec<Values>> {
        let mut portions = Vec::new();
        let mut rows = std::mem::take(&mut self.rows).into_iter();
        while rows.len() > 0 {
            let size = size_for(rows.len().min(self.shape.most_rows()));
            portions.push(rows.by_ref().take(size).collect());
        }
        portions
    }
}

/// Whether they differ in nothing but what they add.
fn alike(one: &Values, other: &Values, added: &Range<usize>) -> bool {
    one[..added.start] == other[..added.start] && one[added.end..] == other[added.end..]
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
    shapes: HashMap<Address, Shape>,
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
    fn shape(&mut self, statement: Statement) -> Shape {
        let known = self.shapes.entry(Address::of(statement));
        known.or_insert_with(|| Shape::of(statement)).clone()
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

    /// Whether a statement, which reads one row if it says so, may run before these.
    pub fn may_overtake(
        &mut self,
        statement: Statement,
        one: Option<OneOf<'_>>,
        deferred: &Writes,
    ) -> bool {
        let mut kinds = deferred.kinds.iter();
        let no_matter = kinds.all(|earlier| !self.must_follow(statement, *earlier));
        let mut writes = deferred.list.iter();
        no_matter || (one.is_some() && writes.all(|write| !self.notices(statement, one, write)))
    }

    /// Whether a statement must not run before a write that came earlier.
    fn notices(&mut self, statement: Statement, one: Option<OneOf<'_>>, write: &Deferred) -> bool {
        let shape = self.shape(write.statement);
        self.must_follow(statement, write.statement)
            && !one.is_some_and(|one| shape.writes_another(&write.values, one))
    }

    /// Brings writes to the same table together. An insert goes ahead of other inserts, and each of them ahead of
    /// what has nothing to do with its table.
    pub fn group(&mut self, deferred: Vec<Deferred>) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let (in_turn, mut last): (Vec<_>, Vec<_>) = deferred
            .into_iter()
            .partition(|write| write.order == Order::InTurn);
        last.sort_by(Deferred::compare);
        for write in in_turn.into_iter().chain(last) {
            let shape = self.shape(write.statement);
            let group = self.group_for(&mut groups, &write, &shape);
            match group.filter(|group| group.takes(&write)) {
                Some(group) => group.take(write),
                None => groups.push(Group::new(write, shape)),
            }
        }
        groups
    }

    /// Those of the same statement, if nothing after them might notice.
    fn group_for<'g>(
        &mut self,
        groups: &'g mut [Group],
        write: &Deferred,
        shape: &Shape,
    ) -> Option<&'g mut Group> {
        let statement = write.statement;
        for group in groups.iter_mut().rev() {
            if Address::of(group.statement) == Address::of(statement) {
                return Some(group);
            }
            let no_matter = match shape {
                Shape::Insert(_) => only_inserts(shape) && only_inserts(&group.shape),
                Shape::Change(change) => group.leaves_alone(change, &write.values),
                Shape::Other => false,
            };
            if !no_matter && self.order_matters(statement, group.statement) {
                return None;
            }
        }
        None
    }
}

fn only_inserts(shape: &Shape) -> bool {
    matches!(shape, Shape::Insert(insert) if insert.only_inserts())
}
