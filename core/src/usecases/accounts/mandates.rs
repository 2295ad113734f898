//! Mandates: what a limited key may do and spend. Only a key without one, or the person of the account,
//! grants them.

use serde_json::{Value, json};

use crate::domain::accounts::TestKeysManage;
use crate::domain::accounts::mandate::{Mandate, Needs, Permission, Verdict};
use crate::domain::events::notification;
use crate::domain::{
    AccountId, Actor, ApiKey, ApiKeyId, Environment, NewTask, NotificationKind, Timestamp,
};
use crate::store::{MandateInUse, StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;
use crate::usecases::events::notify;

/// A key that somebody manages.
#[derive(Clone, Copy, Debug)]
pub struct ManagedKey {
    pub account: AccountId,
    pub key: ApiKeyId,
    /// Whether the caller may manage test keys alone.
    pub only_test: bool,
}

impl ManagedKey {
    /// The key, unless it is revoked. This transaction has locked the account.
    fn active(self, tx: &mut Tx<'_>) -> Result<ApiKey, UseCaseError> {
        let key = tx.api_key(self.account, self.key)?;
        let key = key
            .filter(|key| key.revoked_at.is_none())
            .ok_or(UseCaseError::KeyNotFound)?;
        expect_manageable(key.environment, self.only_test)?;
        Ok(key)
    }
}

/// A test key may be confined to test.
pub fn expect_manageable(environment: Environment, only_test: bool) -> Result<(), UseCaseError> {
    if only_test && environment == Environment::Live {
        return Err(UseCaseError::TestKeyConfined);
    }
    Ok(())
}

/// Gives a key a mandate, or another one. What was spent stays counted. Also returns the time that the key sees.
pub fn put_mandate(
    tx: &mut Tx<'_>,
    managed: ManagedKey,
    mandate: Mandate,
    by: &Actor,
    now: Timestamp,
) -> Result<(MandateInUse, Timestamp), UseCaseError> {
    let (account, id) = (managed.account, managed.key);
    tx.account_to_change(account)?;
    let key = managed.active(tx)?;
    let mandate = granted(tx, &key, mandate, now)?;
    if tx.other_unlimited_keys(account, id)? == 0 && tx.mandate(id)?.is_none() {
        return Err(UseCaseError::LastUnlimitedKey);
    }
    let stored = store(tx, managed, &mandate, by, now)?;
    Ok((stored, tx.time_of(key.owner(), now)?))
}

/// Stops a key, or lets it go on. Its limits stay as they are, whoever changes them meanwhile.
pub fn pause_mandate(
    tx: &mut Tx<'_>,
    managed: ManagedKey,
    paused: bool,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    tx.account_to_change(managed.account)?;
    let key = managed.active(tx)?;
    let known = tx.mandate(managed.key)?;
    let known = known.ok_or(UseCaseError::MandateNotFound)?.mandate;
    let mandate = granted(tx, &key, Mandate { paused, ..known }, now)?;
    store(tx, managed, &mandate, by, now).map(drop)
}

fn store(
    tx: &mut Tx<'_>,
    ManagedKey { account, key, .. }: ManagedKey,
    mandate: &Mandate,
    by: &Actor,
    now: Timestamp,
) -> Result<MandateInUse, UseCaseError> {
    tx.put_mandate(account, key, mandate, now)?;
    let stored = tx.mandate(key)?.ok_or_else(not_stored)?;
    let details = json!({
        "account_id": account.to_string(),
        "mandate": described(mandate, stored.version),
    });
    let key = key.to_string();
    audit(tx, by, "mandate.set", "api_key", &key, details, now)?;
    Ok(stored)
}

/// Lifts the mandate of a key: from now on the key may do everything.
pub fn lift_mandate(
    tx: &mut Tx<'_>,
    managed: ManagedKey,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (account, id) = (managed.account, managed.key);
    tx.account_to_change(account)?;
    managed.active(tx)?;
    if !tx.lift_mandate(account, id, now)? {
        return Err(UseCaseError::MandateNotFound);
    }
    let (id, details) = (id.to_string(), json!({"account_id": account.to_string()}));
    audit(tx, by, "mandate.lifted", "api_key", &id, details, now)
}

/// The mandate as it is granted, by the clock that the key sees.
pub(super) fn granted(
    tx: &mut Tx<'_>,
    key: &ApiKey,
    mandate: Mandate,
    now: Timestamp,
) -> Result<Mandate, UseCaseError> {
    let now = tx.time_of(key.owner(), now)?;
    mandate.granted(now).map_err(UseCaseError::Invalid)
}

/// Tells the owner of each limit that is nearly used up, once in each interval.
pub fn warn_of_limits(tx: &mut Tx<'_>, id: ApiKeyId, now: Timestamp) -> Result<(), UseCaseError> {
    let Some(known) = tx.mandate_to_change(id)? else {
        return Ok(());
    };
    let Some(key) = tx.api_key(known.account, id)? else {
        return Ok(());
    };
    let seen = tx.time_of(key.owner(), now)?;
    let (limits, warned) = known.mandate.to_tell(known.spent, known.warned, seen);
    if limits.is_empty() {
        return Ok(());
    }
    for (limit, counted) in limits {
        let (version, day) = (known.version, seen.day());
        let occasion = format!("limit:{id}:{version}:{limit}:{day}");
        let words = notification::limit_nearly_used(&key.name, limit, counted);
        let kind = NotificationKind::LimitNearlyUsed;
        notify::developer(tx, known.account, kind, occasion, words, now)?;
    }
    Ok(tx.set_warned(id, warned)?)
}

/// Decides what test keys may manage.
pub fn set_test_keys_manage(
    tx: &mut Tx<'_>,
    account: AccountId,
    manage: TestKeysManage,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    tx.account_to_change(account)?;
    if tx.test_keys_manage(account)? == manage {
        return Ok(());
    }
    tx.set_test_keys_manage(account, manage)?;
    let (id, details) = (account.to_string(), json!({ "test_keys_manage": manage }));
    audit(
        tx,
        by,
        "account.security_changed",
        "account",
        &id,
        details,
        now,
    )
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
