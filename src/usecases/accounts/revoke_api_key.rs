//! Revokes an API key permanently. Revoking it again changes nothing.

use serde_json::json;

use crate::domain::{AccountId, Actor, ApiKey, ApiKeyId, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;

pub fn revoke_api_key(
    tx: &mut Tx<'_>,
    account: AccountId,
    id: ApiKeyId,
    by: &Actor,
    now: Timestamp,
) -> Result<ApiKey, UseCaseError> {
    let revoked = tx.revoke_api_key(account, id, now)?;
    let key = tx.api_key(account, id)?.ok_or(UseCaseError::KeyNotFound)?;
    if revoked {
        let (id, details) = (id.to_string(), json!({"account_id": account.to_string()}));
        audit(tx, by, "api_key.revoked", "api_key", &id, details, now)?;
    }
    Ok(key)
}
