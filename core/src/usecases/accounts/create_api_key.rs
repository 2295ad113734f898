//! Creates an API key. The key is in the response and is never shown again.

use serde_json::json;

use crate::domain::accounts::api_key::MAX_ACTIVE;
use crate::domain::accounts::mandate::Mandate;
use crate::domain::{
    AccountId, AccountStatus, Actor, ApiKey, ApiKeyId, NewApiKey, Secret, Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::accounts::mandates::{described, granted};
use crate::usecases::admin::audit;

/// A key record together with the key.
#[derive(Clone, Debug)]
pub struct IssuedKey {
    pub record: ApiKey,
    pub secret: Secret,
}

impl IssuedKey {
    pub fn new(
        account: AccountId,
        new: &NewApiKey,
        id: ApiKeyId,
        random: &[u8; 32],
        now: Timestamp,
    ) -> Self {
        let secret = Secret::api_key(new.environment, random);
        let record = ApiKey {
            id,
            account,
            name: new.name.clone(),
            key_prefix: secret.shown_prefix().to_owned(),
            environment: new.environment,
            last_used_at: None,
            revoked_at: None,
            created_at: now,
        };
        Self { record, secret }
    }
}

pub fn create_api_key(tx: &mut Tx<'_>, key: &IssuedKey, by: &Actor) -> Result<(), UseCaseError> {
    create_limited_key(tx, key, None, by)
}

/// An account has a bounded number of active keys. Its row is locked, so that two requests at once
/// cannot both make the last one. A key with a mandate is never without it.
pub fn create_limited_key(
    tx: &mut Tx<'_>,
    key: &IssuedKey,
    mandate: Option<Mandate>,
    by: &Actor,
) -> Result<(), UseCaseError> {
    let record = &key.record;
    let account = tx.account_to_change(record.account)?;
    if account.is_none_or(|account| account.status == AccountStatus::Deleted) {
        return Err(UseCaseError::Unauthorized);
    }
    if tx.count_active_api_keys(record.account)? >= MAX_ACTIVE {
        return Err(UseCaseError::TooManyKeys { limit: MAX_ACTIVE });
    }
    let mandate = match mandate {
        Some(mandate) => Some(granted(tx, record, mandate, record.created_at).map_err(nested)?),
        None => None,
    };
    tx.insert_api_key(record, &key.secret.hash())?;
    if let Some(mandate) = &mandate {
        tx.put_mandate(record.account, record.id, mandate, record.created_at)?;
    }
    let mut details = json!({
        "account_id": record.account.to_string(),
        "environment": record.environment,
    });
    if let Some(mandate) = &mandate {
        details["mandate"] = described(mandate, 1);
    }
    let (id, now) = (record.id.to_string(), record.created_at);
    audit(tx, by, "api_key.created", "api_key", &id, details, now)
}

/// The mandate is an object in the body of the request.
fn nested(error: UseCaseError) -> UseCaseError {
    match error {
        UseCaseError::Invalid(faults) => UseCaseError::Invalid(faults.under("mandate")),
        other => other,
    }
}
