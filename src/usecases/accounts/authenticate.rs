//! Finds the holder of an API key. It runs on every request, so a revoked key stops working at
//! once.

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
        // A key that was created while the account was being deleted counts as revoked.
        AccountStatus::Deleted => Err(UseCaseError::Unauthorized),
    }
}
