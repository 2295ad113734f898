//! Changes the tier of an account. Tasks that exist keep the fee they were created with.

use serde_json::json;

use crate::domain::{Account, AccountId, Actor, Tier, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;

/// Tells the account as it was before. Setting the tier it has changes nothing.
pub fn set_tier(
    tx: &mut Tx<'_>,
    id: AccountId,
    tier: Tier,
    by: &Actor,
    now: Timestamp,
) -> Result<Account, UseCaseError> {
    let account = tx
        .account_to_change(id)?
        .ok_or(UseCaseError::AccountNotFound)?;
    if account.tier != tier {
        tx.set_tier(id, tier, now)?;
        let (id, details) = (id.to_string(), json!({"from": account.tier, "to": tier}));
        audit(tx, by, "account.tier_changed", "account", &id, details, now)?;
    }
    Ok(account)
}
