//! Revokes an API key, for good. Revoking it again changes nothing.

use super::Refusal;
use crate::domain::{AccountId, ApiKey, ApiKeyId, Timestamp};
use crate::store::Tx;

pub fn revoke_api_key(
    tx: &mut Tx<'_>,
    account: AccountId,
    id: ApiKeyId,
    now: Timestamp,
) -> Result<ApiKey, Refusal> {
    tx.revoke_api_key(account, id, now)?;
    tx.api_key(account, id)?.ok_or(Refusal::KeyNotFound)
}
