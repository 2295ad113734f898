//! What workers sign in with: the address and the password. Also which push messages they want.

use crate::domain::events::push_settings::PushSettings;
use crate::domain::{Timestamp, WorkerId};
use crate::store::{StoreError, Tx};

crate::store::statements! {
    TAKE_EMAIL = "UPDATE workers SET email = ?2, claimed_email = NULL, updated_at = ?3 WHERE id = ?1";
    PASSWORD = "SELECT password_hash FROM workers WHERE id = ?1";
    SET_PASSWORD = "UPDATE workers SET password_hash = ?2 WHERE id = ?1";
    PUSH_SETTINGS = "SELECT push_settings FROM workers WHERE id = ?1";
    SET_PUSH_SETTINGS = "UPDATE workers SET push_settings = ?2 WHERE id = ?1";
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

    pub fn push_settings(&mut self, worker: WorkerId) -> Result<PushSettings, StoreError> {
        let kept = self.optional::<String>(PUSH_SETTINGS, &[worker.into()])?;
        Ok(PushSettings::parse(&kept.unwrap_or_default()))
    }

    pub fn set_push_settings(
        &mut self,
        worker: WorkerId,
        settings: &PushSettings,
    ) -> Result<(), StoreError> {
        let text = settings.to_text();
        self.execute_one(SET_PUSH_SETTINGS, &[worker.into(), text.into()])
    }
}
