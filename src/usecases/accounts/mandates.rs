//! Mandates: what a limited key may do and spend. Only a key without one, or the person of the account,
//! grants them.

use serde_json::{Value, json};

use crate::domain::accounts::mandate::{Mandate, Needs, Permission, Verdict};
use crate::domain::{AccountId, Actor, ApiKey, ApiKeyId, Environment, NewTask, Timestamp};
use crate::store::{MandateInUse, StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;

/// Gives a key a mandate, or another one. What was spent stays counted.
pub fn put_mandate(
    tx: &mut Tx<'_>,
    (account, id): (AccountId, ApiKeyId),
    mandate: Mandate,
    by: &Actor,
    now: Timestamp,
) -> Result<MandateInUse, UseCaseError> {
    tx.account_to_change(account)?;
    let key = active_key(tx, account, id)?;
    let mandate = granted(tx, &key, mandate, now)?;
    if tx.other_unlimited_keys(account, id)? == 0 && tx.mandate(id)?.is_none() {
        return Err(UseCaseError::LastUnlimitedKey);
    }
    tx.put_mandate(account, id, &mandate, now)?;
    let stored = tx.mandate(id)?.ok_or_else(not_stored)?;
    let details = json!({
        "account_id": account.to_string(),
        "mandate": described(&mandate, stored.version),
    });
    audit(
        tx,
        by,
        "mandate.set",
        "api_key",
        &id.to_string(),
        details,
        now,
    )?;
    Ok(stored)
}

/// Lifts the mandate of a key: from now on the key may do everything.
pub fn lift_mandate(
    tx: &mut Tx<'_>,
    (account, id): (AccountId, ApiKeyId),
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    tx.account_to_change(account)?;
    active_key(tx, account, id)?;
    if !tx.lift_mandate(account, id, now)? {
        return Err(UseCaseError::MandateNotFound);
    }
    let (id, details) = (id.to_string(), json!({"account_id": account.to_string()}));
    audit(tx, by, "mandate.lifted", "api_key", &id, details, now)
}

fn active_key(tx: &mut Tx<'_>, account: AccountId, id: ApiKeyId) -> Result<ApiKey, UseCaseError> {
    let key = tx.api_key(account, id)?;
    key.filter(|key| key.revoked_at.is_none())
        .ok_or(UseCaseError::KeyNotFound)
}

/// The mandate as it is granted, by the clock that the key sees.
pub(super) fn granted(
    tx: &mut Tx<'_>,
    key: &ApiKey,
    mandate: Mandate,
    now: Timestamp,
) -> Result<Mandate, UseCaseError> {
    let now = match key.environment {
        Environment::Live => now,
        Environment::Test => now.plus(tx.test_clock(key.account)?),
    };
    mandate.granted(now).map_err(UseCaseError::Invalid)
}

/// For the audit log, which is kept forever: the limits, without places.
pub(super) fn described(mandate: &Mandate, version: i64) -> Value {
    let limits = &mandate.spending_limits;
    json!({
        "version": version,
        "permissions": mandate.permissions.list(),
        "max_task_cents": mandate.max_task_cents,
        "spending_limits": {"day": limits.day, "month": limits.month, "total": limits.total},
        "max_open_tasks": mandate.max_open_tasks,
        "max_tasks_per_day": mandate.max_tasks_per_day,
        "approval_above_cents": mandate.approval_above_cents,
        "review_up_to_cents": mandate.review_up_to_cents,
        "expires_at": mandate.expires_at,
        "paused": mandate.paused,
    })
}

/// What a mandate says to a task that it does not deny.
pub fn expect_allowed(
    mandate: &MandateInUse,
    new: &NewTask,
    now: Timestamp,
) -> Result<Verdict, UseCaseError> {
    let limits = mandate.mandate.key_limits();
    // It may have been paused since the request came in.
    limits.allow(Needs::Permission(Permission::Create), now)?;
    match mandate.mandate.verdict(mandate.spent, new, now) {
        Verdict::Denied(refusals) => Err(UseCaseError::MandateExceeded(refusals)),
        verdict => Ok(verdict),
    }
}

fn not_stored() -> StoreError {
    StoreError::Failed("a mandate was not stored".into())
}
