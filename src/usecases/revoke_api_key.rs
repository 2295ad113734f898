//! Revokes an API key, for good. Revoking it again changes nothing.

use serde_json::json;

use super::{Refusal, audit};
use crate::domain::{AccountId, ApiKey, ApiKeyId, By, Timestamp};
use crate::store::Tx;

pub fn revoke_api_key(
    tx: &mut Tx<'_>,
    account: AccountId,
    id: ApiKeyId,
    by: &By,
    now: Timestamp,
) -> Result<ApiKey, Refusal> {
    let revoked = tx.revoke_api_key(account, id, now)?;
    let key = tx.api_key(account, id)?.ok_or(Refusal::KeyNotFound)?;
    if revoked {
        let (id, details) = (id.to_string(), json!({"account_id": account.to_string()}));
        audit(tx, by, "api_key.revoked", "api_key", &id, details, now)?;
    }
    Ok(key)
}
