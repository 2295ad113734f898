//! Finds out who holds a key. Asked at every request, so a revoked key dies at once.

use crate::domain::{AccountStatus, Secret};
use crate::store::{KeyHolder, Tx};
use crate::usecases::UseCaseError;

pub fn authenticate(tx: &mut Tx<'_>, key: &Secret) -> Result<KeyHolder, UseCaseError> {
    let holder = tx
        .key_holder(&key.hash())?
        .ok_or(UseCaseError::Unauthorized)?;
    match holder.status {
        AccountStatus::Active => Ok(holder),
        AccountStatus::Suspended => Err(UseCaseError::AccountSuspended),
        // A key made while the account was deleted is as good as revoked.
        AccountStatus::Deleted => Err(UseCaseError::Unauthorized),
    }
}
