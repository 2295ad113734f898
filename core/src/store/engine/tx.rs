//! A transaction: what it may run, whichever engine runs it.

use std::ops::Range;
use std::sync::Arc;

use crate::seal::Keyring;
use crate::store::engine::postgres::{self, Lock, OneOf, Order};
use crate::store::engine::value::{FromRow, Row, Value};
use crate::store::engine::{Statement, StoreError, not_as_expected, sqlite};
use crate::store::locked::Locked;
use crate::store::wakeups::ToWake;

/// An open transaction, or a read.
pub struct Tx<'a> {
    inner: Inner<'a>,
    /// Whom to wake after the commit.
    pub(in crate::store) to_wake: ToWake,
    /// What seals secrets. A store that was not unlocked has none.
    pub(in crate::store) keyring: Option<Arc<Keyring>>,
    /// Nobody sends mail, so none is written for sending.
    pub(in crate::store) keeps_mail: bool,
    /// What it has locked and read.
    pub(in crate::store) locked: Locked,
    /// SQLite runs it again, and undoes nothing but it if it fails.
    pub(in crate::store::engine) careful: bool,
    /// SQLite: why the last statement that failed did. The function may have made another error of it.
    pub(in crate::store::engine) failure: Option<StoreError>,
}

enum Inner<'a> {
    Sqlite(&'a rusqlite::Connection),
    Postgres(&'a mut postgres::Session),
}

impl<'a> Tx<'a> {
    pub(in crate::store::engine) fn sqlite(connection: &'a rusqlite::Connection) -> Self {
        Self::new(Inner::Sqlite(connection))
    }

    pub(in crate::store::engine) fn postgres(session: &'a mut postgres::Session) -> Self {
        Self::new(Inner::Postgres(session))
    }

    fn new(inner: Inner<'a>) -> Self {
        Self {
            inner,
            to_wake: ToWake::default(),
            keyring: None,
            keeps_mail: false,
            locked: Locked::default(),
            careful: false,
            failure: None,
        }
    }

    /// All rows of a query.
    pub fn all<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, StoreError> {
        self.query(statement, values, Lock::None)
    }

    /// The row of a query, if there is one.
    pub fn optional<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Option<T>, StoreError> {
        Ok(self.all(statement, values)?.into_iter().next())
    }

    /// Like `optional`, and locks the row until the transaction ends. SQLite has one writer at a
    /// time anyway.
    pub fn optional_locked<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Option<T>, StoreError> {
        let rows = self.query(statement, values, Lock::Rows)?;
        Ok(rows.into_iter().next())
    }

    /// Like `optional_locked`, for a statement that reads one row of that table: the row that has its first value in
    /// that column. A batch of PostgreSQL need not write the other rows of the table before.
    pub fn optional_locked_of<T: FromRow>(
        &mut self,
        (table, column): (&'static str, &'static str),
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Option<T>, StoreError> {
        let Inner::Postgres(session) = &mut self.inner else {
            return self.optional_locked(statement, values);
        };
        let one = values.first().map(|value| OneOf {
            table,
            column,
            value,
        });
        let rows = session.query(statement, values, Lock::Rows, one)?;
        rows.first()
            .map(|row| Row::postgres(row).read())
            .transpose()
    }

    /// All rows of a query that no other transaction has locked. They are locked until this one ends.
    pub fn all_unclaimed<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<T>, StoreError> {
        self.query(statement, values, Lock::FreeRows)
    }

    fn query<T: FromRow>(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        lock: Lock,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.each_row(statement, values, lock, &mut |row| {
            found.push(row.read()?);
            Ok(())
        })?;
        Ok(found)
    }

    fn each_row(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        lock: Lock,
        take: &mut dyn FnMut(Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match &mut self.inner {
            Inner::Sqlite(connection) => {
                let read = sqlite::each_row(connection, statement, values, take);
                noted(read, &mut self.failure)
            }
            Inner::Postgres(session) => {
                let rows = session.query(statement, values, lock, None)?;
                rows.iter().map(Row::postgres).try_for_each(take)
            }
        }
    }

    /// Runs a write and returns how many rows it changed.
    pub fn execute(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<u64, StoreError> {
        match &mut self.inner {
            Inner::Sqlite(connection) => {
                let written = sqlite::execute(connection, statement, values);
                noted(written, &mut self.failure)
            }
            Inner::Postgres(session) => session.execute(statement, values),
        }
    }

    /// Runs a write that names the state it expects and must change one row. Otherwise another
    /// transaction was faster, and this one is a collision: it is retried on the new state.
    pub fn execute_one(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        if self.execute(statement, values)? == 1 {
            return Ok(());
        }
        let error = not_as_expected();
        if let Inner::Postgres(session) = &mut self.inner {
            session.must_retry(error.clone());
        }
        Err(error)
    }

    /// Like `execute_one`, for a row that this transaction has locked and read: it is in the state in
    /// which it was read. PostgreSQL sends it with the next statement, and checks before the commit that
    /// it changed one row.
    pub fn change_locked(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        match &mut self.inner {
            Inner::Sqlite(_) => self.execute_one(statement, values),
            Inner::Postgres(session) => session.change(statement, values, None),
        }
    }

    /// Runs a write, and returns whether it changed one row. The first try of a batch of PostgreSQL does not
    /// wait for the answer: if it is no, the batch is run again, and then this returns it.
    pub fn changes_one(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<bool, StoreError> {
        match &mut self.inner {
            Inner::Postgres(session) if session.is_first_try_of_batch() => {
                session.change(statement, values, None)?;
                Ok(true)
            }
            _ => Ok(self.execute(statement, values)? == 1),
        }
    }

    /// Like `change_locked`, for a statement that adds some of its values to a row and whose conditions
    /// hold for a sum only if they hold for each part of it. Of those that differ in these values alone,
    /// a batch of PostgreSQL sends one, with the sums.
    pub fn add_to_locked(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        added: Range<usize>,
    ) -> Result<(), StoreError> {
        match &mut self.inner {
            Inner::Sqlite(_) => self.execute_one(statement, values),
            Inner::Postgres(session) => session.change(statement, values, Some(added)),
        }
    }

    /// Whether what was read shortly before will do for now: a read would cost a round trip, or time of
    /// the one writer. Only for what a later `change_locked` names in its `WHERE`. If that fails, the
    /// transaction is run again, and then it has to read.
    pub fn may_trust_earlier_reads(&self) -> bool {
        match &self.inner {
            Inner::Sqlite(_) => !self.careful,
            Inner::Postgres(session) => session.is_first_try_of_batch(),
        }
    }

    /// A write that succeeds or is an error, such as an INSERT: the number of changed rows does not
    /// matter. PostgreSQL sends it together with the next statement or the commit, which saves a
    /// round trip. An error appears there and still rolls back the transaction.
    pub fn defer(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<(), StoreError> {
        self.defer_in(Order::InTurn, statement, values, None)
    }

    /// Like `defer`, for a row that transactions of several accounts write, with its key in the first
    /// values. A batch of PostgreSQL writes such rows at its end, in one order, so that batches do not
    /// wait for each other in a circle.
    pub fn defer_last(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        self.defer_in(Order::Last, statement, values, None)
    }

    /// Like `defer_last`, for a statement that adds some of its values to a row. Of those that differ in these values
    /// alone, a batch of PostgreSQL sends one, with the sums.
    pub fn defer_sum(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        added: Range<usize>,
    ) -> Result<(), StoreError> {
        self.defer_in(Order::Last, statement, values, Some(added))
    }

    /// Like `defer`, for a write that lowers something to its last value, if that is less. Of two that
    /// differ in this value alone, PostgreSQL is sent the lesser, after the other deferred writes.
    pub fn defer_least(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<(), StoreError> {
        self.defer_in(Order::Least, statement, values, None)
    }

    fn defer_in(
        &mut self,
        order: Order,
        statement: Statement,
        values: &[Value<'_>],
        added: Option<Range<usize>>,
    ) -> Result<(), StoreError> {
        match &mut self.inner {
            Inner::Sqlite(_) => self.execute(statement, values).map(drop),
            Inner::Postgres(session) => session.defer(statement, values, order, added),
        }
    }

    /// Prepares a statement without running it.
    pub fn check(&mut self, statement: Statement) -> Result<(), StoreError> {
        match &mut self.inner {
            Inner::Sqlite(connection) => sqlite::check(connection, statement),
            Inner::Postgres(session) => session.check(statement),
        }
    }

    /// The columns of every table, in one form for both engines.
    pub fn schema(&mut self) -> Result<Vec<String>, StoreError> {
        match &mut self.inner {
            Inner::Sqlite(connection) => sqlite::schema(connection),
            Inner::Postgres(session) => session.schema(),
        }
    }
}

fn noted<T>(
    done: Result<T, StoreError>,
    failure: &mut Option<StoreError>,
) -> Result<T, StoreError> {
    if let Err(error) = &done {
        *failure = Some(error.clone());
    }
    done
}
