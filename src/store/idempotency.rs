//! Answers that were given to requests with an Idempotency-Key.

use crate::domain::{Owner, Timestamp};
use crate::store::{StoreError, Tx};

crate::store::statements! {
    GET = "SELECT fingerprint, response_status, response_body, sealed, created_at
        FROM idempotency_keys
        WHERE account_id = ?1 AND environment = ?2 AND idempotency_key = ?3";
    /// An answer older than its time may be replaced: the key is free again.
    PUT = "INSERT INTO idempotency_keys (account_id, environment, idempotency_key, fingerprint,
            response_status, response_body, sealed, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT (account_id, environment, idempotency_key) DO UPDATE
        SET fingerprint = excluded.fingerprint, response_status = excluded.response_status,
            response_body = excluded.response_body, sealed = excluded.sealed,
            created_at = excluded.created_at
        WHERE idempotency_keys.created_at <= ?9";
    PRUNE = "DELETE FROM idempotency_keys
        WHERE (account_id, environment, idempotency_key) IN (
            SELECT account_id, environment, idempotency_key FROM idempotency_keys
            WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)";
}

/// A key is the caller's own word: it means something only within one account and environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyScope {
    pub owner: Owner,
    pub key: String,
}

#[derive(Clone, Debug)]
pub struct IdempotencyRecord {
    pub fingerprint: String,
    pub response_status: i64,
    pub response_body: String,
    pub sealed: bool,
    pub created_at: Timestamp,
}

impl Tx<'_> {
    pub fn idempotency_record(
        &mut self,
        scope: &IdempotencyScope,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        let values = [
            scope.owner.account.to_string().into(),
            scope.owner.environment.as_str().into(),
            (&scope.key).into(),
        ];
        self.optional(GET, &values, |row| {
            Ok(IdempotencyRecord {
                fingerprint: row.get(0)?,
                response_status: row.get(1)?,
                response_body: row.get(2)?,
                sealed: row.get::<i64>(3)? != 0,
                created_at: row.get(4)?,
            })
        })
    }

    /// Tried again as a whole when another request has just stored its answer under the same key.
    pub fn put_idempotency_record(
        &mut self,
        scope: &IdempotencyScope,
        record: &IdempotencyRecord,
        expired_before: Timestamp,
    ) -> Result<(), StoreError> {
        self.execute_one(
            PUT,
            &[
                scope.owner.account.to_string().into(),
                scope.owner.environment.as_str().into(),
                (&scope.key).into(),
                (&record.fingerprint).into(),
                record.response_status.into(),
                (&record.response_body).into(),
                i64::from(record.sealed).into(),
                record.created_at.into(),
                expired_before.into(),
            ],
        )
    }

    /// Forgets up to `limit` records of that age or older; tells how many.
    pub fn prune_idempotency_records(
        &mut self,
        expired_before: Timestamp,
        limit: i64,
    ) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[expired_before.into(), limit.into()])
    }
}
