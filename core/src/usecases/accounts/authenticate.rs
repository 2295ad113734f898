//! Whether the holder of an API key may come in. It is asked on every request, so a revoked key stops
//! working at once.

use crate::domain::AccountStatus;
use crate::store::KeyHolder;
use crate::usecases::UseCaseError;

/// `found` is the holder of the key that was presented, if there is one.
pub fn authenticate(found: Option<KeyHolder>) -> Result<KeyHolder, UseCaseError> {
    let holder = found.ok_or(UseCaseError::Unauthorized)?;
    match holder.status {
        AccountStatus::Active => Ok(holder),
        AccountStatus::Suspended => Err(UseCaseError::AccountSuspended),
        // A key that was created while the account was being deleted counts as revoked.
        AccountStatus::Deleted => Err(UseCaseError::Unauthorized),
    }
}
