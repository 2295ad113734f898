//! Stored responses to requests with an Idempotency-Key.

use crate::domain::{Owner, Timestamp};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro record;
    table idempotency_keys;
    fn record_values<'a>(
        scope: &'a IdempotencyScope,
        record: &'a IdempotencyRecord,
        expired_before: Timestamp,
    );
    columns {
        fingerprint: &record.fingerprint,
        response_status: record.response_status,
        response_body: &record.response_body,
        sealed: record.sealed,
        created_at: record.created_at,
    }
    inserted {
        account_id: scope.owner.account,
        environment: scope.owner.environment,
        idempotency_key: &scope.key,
    }
    parameters { expired_before: expired_before }
    row IdempotencyRecord = IdempotencyRecord {
        fingerprint,
        response_status,
        response_body,
        sealed,
        created_at,
    };
}

crate::store::statements! {
    GET = concat!("SELECT ", record!(columns), " FROM idempotency_keys
        WHERE account_id = ?1 AND environment = ?2 AND idempotency_key = ?3");
    /// An expired response may be replaced: the key is free again.
    PUT = concat!(record!(insert), "
        ON CONFLICT (account_id, environment, idempotency_key) DO UPDATE
        SET fingerprint = excluded.fingerprint, response_status = excluded.response_status,
            response_body = excluded.response_body, sealed = excluded.sealed,
            created_at = excluded.created_at
        WHERE idempotency_keys.created_at <= ", record!(expired_before));
    PRUNE = "DELETE FROM idempotency_keys
        WHERE (account_id, environment, idempotency_key) IN (
            SELECT account_id, environment, idempotency_key FROM idempotency_keys
            WHERE created_at <= ?1 ORDER BY created_at LIMIT 500)";
}

/// Callers choose their keys, so a key is unique only within one account and environment.
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
            scope.owner.account.into(),
            scope.owner.environment.into(),
            (&scope.key).into(),
        ];
        self.optional(GET, &values)
    }

    /// A collision when another request has just stored its response under the same key.
    pub fn put_idempotency_record(
        &mut self,
        scope: &IdempotencyScope,
        record: &IdempotencyRecord,
        expired_before: Timestamp,
    ) -> Result<(), StoreError> {
        self.execute_one(PUT, &record_values(scope, record, expired_before))
    }

    /// Deletes a batch of records of that age or older; returns how many.
    pub fn prune_idempotency_records(
        &mut self,
        expired_before: Timestamp,
    ) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[expired_before.into()])
    }
}
