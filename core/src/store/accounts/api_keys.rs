//! API key records. The key itself is never here, only its hash.

use std::time::Duration;

use crate::domain::accounts::mandate::{KeyLimits, Permissions};
use crate::domain::{AccountId, AccountStatus, ApiKey, ApiKeyId, Owner, Tier, Timestamp};
use crate::store::{KeptTable, Lookup, StoreError, Tx, columns};

columns! {
    macro key;
    table api_keys;
    fn key_values<'a>(key: &'a ApiKey, key_hash: &'a str);
    columns {
        id: key.id,
        account_id: key.account,
        name: &key.name,
        key_prefix: &key.key_prefix,
        environment: key.environment,
        last_used_at: key.last_used_at,
        revoked_at: key.revoked_at,
        created_at: key.created_at,
    }
    inserted { key_hash: key_hash }
    row ApiKey = ApiKey {
        id,
        account: account_id,
        name,
        key_prefix,
        environment,
        last_used_at,
        revoked_at,
        created_at,
    };
}

columns! {
    macro holder;
    columns {
        key = "k.id",
        account = "k.account_id",
        environment = "k.environment",
        tier = "a.tier",
        status = "a.status",
        email_confirmed = "CASE WHEN a.claimed_email IS NULL THEN CAST(1 AS BIGINT) ELSE 0 END",
        ahead_ms = "CASE WHEN k.environment = 'test' THEN a.test_ahead_ms ELSE 0 END",
        confined = "CASE WHEN k.environment = 'test' AND a.test_keys_manage = 'test' THEN CAST(1 AS BIGINT) ELSE 0 END",
        permissions = "m.permissions",
        paused = "m.paused",
        expires_at = "m.expires_at",
        review_up_to_cents = "m.review_up_to_cents",
    }
    row KeyHolder = KeyHolder {
        key,
        owner: Owner { account, environment },
        tier,
        status,
        email_confirmed,
        ahead: Duration::from_millis(i64::unsigned_abs(ahead_ms)),
        is_confined: confined,
        limits: limits_of((permissions, paused, expires_at), review_up_to_cents),
    };
}

/// The limits of a key, unless it has no mandate.
fn limits_of(
    mandate: (Option<i64>, Option<bool>, Option<Timestamp>),
    review_up_to_cents: Option<i64>,
) -> Option<KeyLimits> {
    let (Some(permissions), Some(paused), Some(expires_at)) = mandate else {
        return None;
    };
    Some(KeyLimits {
        permissions: Permissions::from_bits(permissions),
        paused,
        expires_at,
        review_up_to_cents,
    })
}

crate::store::statements! {
    INSERT = key!(insert);
    ACTIVE = concat!("SELECT ", key!(columns), " FROM api_keys
        WHERE account_id = ?1 AND revoked_at IS NULL ORDER BY id DESC");
    REVOKED = concat!("SELECT ", key!(columns), " FROM api_keys
        WHERE account_id = ?1 AND revoked_at IS NOT NULL ORDER BY id DESC LIMIT ?2");
    ONE = concat!("SELECT ", key!(columns), " FROM api_keys WHERE account_id = ?1 AND id = ?2");
    /// A revoked key keeps the time at which it was first revoked.
    REVOKE = "UPDATE api_keys SET revoked_at = ?3
        WHERE account_id = ?1 AND id = ?2 AND revoked_at IS NULL";
    REVOKE_ALL = "UPDATE api_keys SET revoked_at = ?2 WHERE account_id = ?1 AND revoked_at IS NULL";
    COUNT_ACTIVE_IN = "SELECT COUNT(*) FROM api_keys
        WHERE account_id = ?1 AND revoked_at IS NULL AND environment = ?2";
    COUNT_ACTIVE = "SELECT COUNT(*) FROM api_keys WHERE account_id = ?1 AND revoked_at IS NULL";
    /// Whether it is revoked is asked in a way that the index of active keys does not answer: while there
    /// are few keys, PostgreSQL would otherwise go through that index, and keep doing so.
    HOLDER = concat!("SELECT ", holder!(columns), "
        FROM api_keys k JOIN accounts a ON a.id = k.account_id
            LEFT JOIN mandates m ON m.key_id = k.id AND COALESCE(m.lifted_at, -1) = -1
        WHERE k.key_hash = ?1 AND COALESCE(k.revoked_at, -1) = -1");
    USED_FROM = "SELECT CAST(1 AS BIGINT) FROM api_keys
        WHERE account_id = ?1 AND last_address = ?2 AND last_used_at > ?3 LIMIT 1";
    FORGET_ADDRESSES = "UPDATE api_keys SET last_address = NULL WHERE id IN (
            SELECT id FROM api_keys WHERE last_address IS NOT NULL AND last_used_at <= ?1 LIMIT 500)";
    TOUCH = "UPDATE api_keys SET last_used_at = ?2, last_address = COALESCE(?3, last_address)
        WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
}

/// The account of a valid key.
#[derive(Clone, Copy, Debug)]
pub struct KeyHolder {
    pub key: ApiKeyId,
    pub owner: Owner,
    pub tier: Tier,
    pub status: AccountStatus,
    /// Or there is no way to confirm it.
    pub email_confirmed: bool,
    /// How far the clock of a test key is ahead.
    pub ahead: Duration,
    /// A test key that may manage nothing beyond test.
    pub is_confined: bool,
    /// What its mandate allows, if it has one.
    pub limits: Option<KeyLimits>,
}

impl KeyHolder {
    /// The time that this key sees.
    pub fn time(&self, now: Timestamp) -> Timestamp {
        now.plus(self.ahead)
    }
}

impl Lookup<KeyHolder> {
    /// The holder of a key that is not revoked.
    pub fn key_holder(key_hash: String) -> Self {
        Self::new(HOLDER, vec![key_hash.into()]).kept(&[
            ("k", KeptTable::ApiKeys),
            ("a", KeptTable::Accounts),
            ("m", KeptTable::Mandates),
        ])
    }
}

impl Tx<'_> {
    pub fn insert_api_key(&mut self, key: &ApiKey, key_hash: &str) -> Result<(), StoreError> {
        self.defer(INSERT, &key_values(key, key_hash))
    }

    /// All active keys of an account and its last revoked ones, newest first.
    pub fn api_keys(
        &mut self,
        account: AccountId,
        revoked: i64,
    ) -> Result<Vec<ApiKey>, StoreError> {
        let mut keys: Vec<ApiKey> = self.all(ACTIVE, &[account.into()])?;
        keys.extend(self.all::<ApiKey>(REVOKED, &[account.into(), revoked.into()])?);
        keys.sort_by_key(|key| std::cmp::Reverse(key.id));
        Ok(keys)
    }

    pub fn api_key(
        &mut self,
        account: AccountId,
        id: ApiKeyId,
    ) -> Result<Option<ApiKey>, StoreError> {
        let values = [account.into(), id.into()];
        self.optional(ONE, &values)
    }

    /// False when there is no such key, or when it is revoked already.
    pub fn revoke_api_key(
        &mut self,
        account: AccountId,
        id: ApiKeyId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [account.into(), id.into(), now.into()];
        Ok(self.execute(REVOKE, &values)? == 1)
    }

    pub fn revoke_api_keys(
        &mut self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(REVOKE_ALL, &[account.into(), now.into()])
    }

    pub fn count_active_api_keys(&mut self, account: AccountId) -> Result<i64, StoreError> {
        let count = self.optional(COUNT_ACTIVE, &[account.into()])?;
        Ok(count.unwrap_or(0))
    }

    /// How many keys of one environment are active. The account is locked, so it stays true.
    pub fn count_active_keys_in(&mut self, owner: Owner) -> Result<i64, StoreError> {
        let count = self.optional(COUNT_ACTIVE_IN, &crate::store::owned_by(owner))?;
        Ok(count.unwrap_or(0))
    }

    /// Records the last use of a key, and a mark of the address that it came from if there is one.
    pub fn touch_api_key(
        &mut self,
        id: ApiKeyId,
        used_at: Timestamp,
        address_mark: Option<&str>,
    ) -> Result<(), StoreError> {
        self.defer(TOUCH, &[id.into(), used_at.into(), address_mark.into()])
    }

    /// Whether a key of an account was last used from an address with this mark, after that time.
    pub fn key_was_used_from(
        &mut self,
        account: AccountId,
        address_mark: &str,
        after: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [account.into(), address_mark.into(), after.into()];
        let found = self.optional::<i64>(USED_FROM, &values)?;
        Ok(found.is_some())
    }

    /// Forgets the addresses of a batch of keys that were not used since then; returns how many.
    pub fn forget_addresses(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.execute(FORGET_ADDRESSES, &[before.into()])
    }
}
