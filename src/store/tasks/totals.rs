//! The totals of an owner as a lock: whoever holds them sees no task of the owner move.

use crate::domain::Owner;
use crate::store::owned_by;
use crate::store::{StoreError, Tx};

crate::store::statements! {
    HOLD = "SELECT last_number FROM task_totals WHERE account_id = ?1 AND environment = ?2";
    /// No month is before the first: nothing is created any more.
    CLOSE = "UPDATE task_totals SET month = -1, month_tasks = 0
        WHERE account_id = ?1 AND environment = ?2";
}

impl Tx<'_> {
    /// Holds the totals until this transaction ends. Every move of the owner's tasks holds them, and so
    /// does whoever changes the status of the account: what a move reads of that status after it has
    /// counted itself is true until it ends.
    pub fn hold_totals(&mut self, owner: Owner) -> Result<(), StoreError> {
        self.optional_locked(HOLD, &owned_by(owner), |row| row.get::<i64>(0))
            .map(drop)
    }

    /// From now on no task is created, whoever has been let in before.
    pub fn close_totals(&mut self, owner: Owner) -> Result<(), StoreError> {
        self.defer(CLOSE, &owned_by(owner))
    }
}
