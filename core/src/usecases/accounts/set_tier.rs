//! Changes the tier of an account. Existing tasks keep their fee.

use serde_json::json;

use crate::domain::{Account, AccountId, AccountStatus, Actor, Tier, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::accounts::suspend_account::refuse;
use crate::usecases::admin::audit;

/// Returns the account as it was before. Setting the current tier changes nothing.
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
    if account.status == AccountStatus::Deleted {
        return refuse(&account, "change its tier");
    }
    if account.tier != tier {
        tx.set_tier(id, tier, now)?;
        let (id, details) = (id.to_string(), json!({"from": account.tier, "to": tier}));
        audit(tx, by, "account.tier_changed", "account", &id, details, now)?;
    }
    Ok(account)
}
