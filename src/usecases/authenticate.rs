//! Finds out who holds a key. Asked at every request, so a revoked key dies at once.

use super::Refusal;
use crate::domain::{AccountStatus, Secret};
use crate::store::{KeyHolder, Tx};

pub fn authenticate(tx: &mut Tx<'_>, key: &Secret) -> Result<KeyHolder, Refusal> {
    let holder = tx.key_holder(&key.hash())?.ok_or(Refusal::Unauthorized)?;
    match holder.status {
        AccountStatus::Active => Ok(holder),
        AccountStatus::Suspended => Err(Refusal::AccountSuspended),
        // A key made while the account was deleted is as good as revoked.
        AccountStatus::Deleted => Err(Refusal::Unauthorized),
    }
}
