//! What the people of an account sign in with: the address and the password.

use crate::domain::people::mail_link::LINK_SECRET;
use crate::domain::{Account, AccountId, Timestamp};
use crate::store::{StoreError, Tx};

crate::store::statements! {
    /// The row that whoever takes an address locks.
    ADDRESSES = "SELECT name FROM service_secrets WHERE name = ?1";
    TAKE_EMAIL = "UPDATE accounts SET email = ?2, claimed_email = NULL, updated_at = ?3
        WHERE id = ?1 AND status <> 'deleted'";
    SET_PASSWORD = "UPDATE accounts SET password_hash = ?2 WHERE id = ?1 AND status <> 'deleted'";
    PASSWORD = "SELECT password_hash FROM accounts WHERE id = ?1 AND password_hash IS NOT NULL";
}

impl Tx<'_> {
    /// Until this transaction ends, no other takes an address: what is free stays free. There are few
    /// such transactions. `secret` is stored if the service has none yet to make links with.
    pub fn hold_addresses(&mut self, secret: &str) -> Result<(), StoreError> {
        self.service_secret(LINK_SECRET, secret)?;
        let _: Option<String> = self.optional_locked(ADDRESSES, &[LINK_SECRET.into()])?;
        Ok(())
    }

    /// From now on the account has this confirmed address. The addresses are held, and nobody has it.
    pub fn take_email(
        &mut self,
        account: &Account,
        email: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [account.id.into(), email.into(), now.into()];
        self.execute_one(TAKE_EMAIL, &values)
    }

    /// The hash of the account's password, if it has one.
    pub fn account_password(&mut self, id: AccountId) -> Result<Option<String>, StoreError> {
        self.optional(PASSWORD, &[id.into()])
    }

    pub fn set_account_password(&mut self, id: AccountId, hash: &str) -> Result<(), StoreError> {
        self.execute_one(SET_PASSWORD, &[id.into(), hash.into()])
    }
}
