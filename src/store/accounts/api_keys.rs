//! API key records. The key itself is never here, only its hash.

use std::time::Duration;

use crate::domain::{
    AccountId, AccountStatus, ApiKey, ApiKeyId, Environment, Owner, Tier, Timestamp,
};
use crate::store::{Row, StoreError, Tx};

/// The columns of a whole row, in the order in which `read` takes them.
macro_rules! columns {
    () => {
        "id, account_id, name, key_prefix, environment, last_used_at, revoked_at, created_at"
    };
}

crate::store::statements! {
    INSERT = "INSERT INTO api_keys (id, account_id, name, key_hash, key_prefix, environment,
            last_used_at, revoked_at, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    OF_ACCOUNT = concat!("SELECT ", columns!(), " FROM api_keys WHERE account_id = ?1 ORDER BY id DESC");
    ONE = concat!("SELECT ", columns!(), " FROM api_keys WHERE account_id = ?1 AND id = ?2");
    /// A key that was revoked keeps the moment it was revoked first.
    REVOKE = "UPDATE api_keys SET revoked_at = ?3
        WHERE account_id = ?1 AND id = ?2 AND revoked_at IS NULL";
    REVOKE_ALL = "UPDATE api_keys SET revoked_at = ?2 WHERE account_id = ?1 AND revoked_at IS NULL";
    COUNT_ACTIVE = "SELECT COUNT(*) FROM api_keys WHERE account_id = ?1 AND revoked_at IS NULL";
    HOLDER = "SELECT k.id, k.account_id, k.environment, a.tier, a.status,
            CASE WHEN k.environment = 'test' THEN a.test_ahead_ms ELSE 0 END
        FROM api_keys k JOIN accounts a ON a.id = k.account_id
        WHERE k.key_hash = ?1 AND k.revoked_at IS NULL";
    TOUCH = "UPDATE api_keys SET last_used_at = ?2
        WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
}

/// Who holds a key that is good.
#[derive(Clone, Copy, Debug)]
pub struct KeyHolder {
    pub key: ApiKeyId,
    pub owner: Owner,
    pub tier: Tier,
    pub status: AccountStatus,
    /// How far the clock of a test key is ahead.
    pub ahead: Duration,
}

impl KeyHolder {
    /// What time it is for this key.
    pub fn time(&self, now: Timestamp) -> Timestamp {
        now.plus(self.ahead)
    }
}

impl Tx<'_> {
    pub fn insert_api_key(&mut self, key: &ApiKey, key_hash: &str) -> Result<(), StoreError> {
        self.defer(
            INSERT,
            &[
                key.id.to_string().into(),
                key.account.to_string().into(),
                (&key.name).into(),
                key_hash.into(),
                (&key.key_prefix).into(),
                key.environment.as_str().into(),
                key.last_used_at.into(),
                key.revoked_at.into(),
                key.created_at.into(),
            ],
        )
    }

    /// All keys of an account, newest first, revoked ones included.
    pub fn api_keys(&mut self, account: AccountId) -> Result<Vec<ApiKey>, StoreError> {
        self.all(OF_ACCOUNT, &[account.to_string().into()], read)
    }

    pub fn api_key(
        &mut self,
        account: AccountId,
        id: ApiKeyId,
    ) -> Result<Option<ApiKey>, StoreError> {
        let values = [account.to_string().into(), id.to_string().into()];
        self.optional(ONE, &values, read)
    }

    /// False when there is no such key that is good.
    pub fn revoke_api_key(
        &mut self,
        account: AccountId,
        id: ApiKeyId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [
            account.to_string().into(),
            id.to_string().into(),
            now.into(),
        ];
        Ok(self.execute(REVOKE, &values)? == 1)
    }

    pub fn revoke_api_keys(
        &mut self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(REVOKE_ALL, &[account.to_string().into(), now.into()])
    }

    pub fn count_active_api_keys(&mut self, account: AccountId) -> Result<i64, StoreError> {
        let count = self.optional(COUNT_ACTIVE, &[account.to_string().into()], |row| {
            row.get(0)
        })?;
        Ok(count.unwrap_or(0))
    }

    pub fn key_holder(&mut self, key_hash: &str) -> Result<Option<KeyHolder>, StoreError> {
        self.optional(HOLDER, &[key_hash.into()], |row| {
            Ok(KeyHolder {
                key: row.parse(0, ApiKeyId::parse)?,
                owner: Owner {
                    account: row.parse(1, AccountId::parse)?,
                    environment: row.parse(2, Environment::parse)?,
                },
                tier: row.parse(3, Tier::parse)?,
                status: row.parse(4, AccountStatus::parse)?,
                ahead: Duration::from_millis(row.get::<i64>(5)?.unsigned_abs()),
            })
        })
    }

    pub fn touch_api_key(&mut self, id: ApiKeyId, used_at: Timestamp) -> Result<(), StoreError> {
        self.defer(TOUCH, &[id.to_string().into(), used_at.into()])
    }
}

fn read(row: &Row<'_>) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        id: row.parse(0, ApiKeyId::parse)?,
        account: row.parse(1, AccountId::parse)?,
        name: row.get(2)?,
        key_prefix: row.get(3)?,
        environment: row.parse(4, Environment::parse)?,
        last_used_at: row.get(5)?,
        revoked_at: row.get(6)?,
        created_at: row.get(7)?,
    })
}
