//! Revokes an API key permanently. Revoking it again changes nothing.

use serde_json::json;

use crate::domain::{AccountId, Actor, ApiKey, ApiKeyId, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::accounts::mandates::expect_manageable;
use crate::usecases::admin::audit;

/// Which key to revoke, and whether it may be the last one of its environment.
#[derive(Clone, Copy, Debug)]
pub struct Revocation {
    pub account: AccountId,
    pub key: ApiKeyId,
    pub may_be_last: bool,
    /// Whether the caller may manage test keys alone.
    pub only_test: bool,
}

/// The account is locked, so two requests at once cannot revoke the last two keys unasked.
pub fn revoke_api_key(
    tx: &mut Tx<'_>,
    revocation: Revocation,
    by: &Actor,
    now: Timestamp,
) -> Result<ApiKey, UseCaseError> {
    let (account, id) = (revocation.account, revocation.key);
    tx.account_to_change(account)?;
    let key = tx.api_key(account, id)?.ok_or(UseCaseError::KeyNotFound)?;
    expect_manageable(key.environment, revocation.only_test)?;
    if key.revoked_at.is_none() && !revocation.may_be_last {
        // A key with a mandate could not make another one.
        let manages_alone = tx.mandate(id)?.is_none() && tx.other_unlimited_keys(account, id)? == 0;
        let is_alone = tx.count_active_keys_in(key.owner())? <= 1;
        if manages_alone || is_alone {
            return Err(UseCaseError::LastKey {
                locks_out_of: is_alone.then_some(key.environment),
                manages_alone,
            });
        }
    }
    let revoked = tx.revoke_api_key(account, id, now)?;
    let key = tx.api_key(account, id)?.ok_or(UseCaseError::KeyNotFound)?;
    if revoked {
        let (id, details) = (id.to_string(), json!({"account_id": account.to_string()}));
        audit(tx, by, "api_key.revoked", "api_key", &id, details, now)?;
    }
    Ok(key)
}
