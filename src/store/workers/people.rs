//! What workers sign in with: the address and the password.

use crate::domain::{Timestamp, WorkerId};
use crate::store::{StoreError, Tx};

crate::store::statements! {
    TAKE_EMAIL = "UPDATE workers SET email = ?2, claimed_email = NULL, updated_at = ?3 WHERE id = ?1";
    PASSWORD = "SELECT password_hash FROM workers WHERE id = ?1";
    SET_PASSWORD = "UPDATE workers SET password_hash = ?2 WHERE id = ?1";
}

impl Tx<'_> {
    /// From now on the worker has this confirmed address. The addresses are held, and nobody has it.
    pub fn take_worker_email(
        &mut self,
        worker: WorkerId,
        email: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [worker.into(), email.into(), now.into()];
        self.execute_one(TAKE_EMAIL, &values)
    }

    pub fn worker_password(&mut self, worker: WorkerId) -> Result<Option<String>, StoreError> {
        self.optional(PASSWORD, &[worker.into()])
    }

    pub fn set_worker_password(&mut self, worker: WorkerId, hash: &str) -> Result<(), StoreError> {
        self.execute_one(SET_PASSWORD, &[worker.into(), hash.into()])
    }
}
