//! What accounts and workers have used of their requests, for all servers together.

use crate::domain::accounts::rate_limit::Bucket;
use crate::domain::{AccountId, Timestamp};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro bucket;
    columns { full_at, seen_at }
    row Bucket = Bucket { full_at, seen_at };
}

crate::store::statements! {
    GET = concat!("SELECT ", bucket!(columns), " FROM rate_limits WHERE id = ?1");
    ADD = "INSERT INTO rate_limits (id, full_at, seen_at, used_hour) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (id) DO NOTHING";
    SET = "UPDATE rate_limits SET full_at = ?2, seen_at = ?3, used_hour = ?4 WHERE id = ?1";
    PRUNE = "DELETE FROM rate_limits WHERE id IN (
            SELECT id FROM rate_limits WHERE used_hour < ?1 ORDER BY used_hour LIMIT 500)";
}

impl Tx<'_> {
    /// The bucket of a caller, locked. One that is not there is full.
    pub fn rate_limit(&mut self, id: AccountId, now: Timestamp) -> Result<Bucket, StoreError> {
        if let Some(bucket) = self.optional_locked(GET, &[id.into()])? {
            return Ok(bucket);
        }
        let full = Bucket::full(now);
        self.execute(ADD, &values(id, full))?;
        // Another server may have been faster.
        let added = self.optional_locked(GET, &[id.into()])?;
        Ok(added.unwrap_or(full))
    }

    pub fn set_rate_limit(&mut self, id: AccountId, bucket: Bucket) -> Result<(), StoreError> {
        self.defer(SET, &values(id, bucket))
    }

    /// Deletes a batch of older ones; returns how many.
    pub fn prune_rate_limits(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let hour = hour(before.as_millis() * 1_000);
        self.execute(PRUNE, &[hour.into()])
    }
}

fn values(id: AccountId, bucket: Bucket) -> [crate::store::Value<'static>; 4] {
    [
        id.into(),
        bucket.full_at.into(),
        bucket.seen_at.into(),
        hour(bucket.seen_at).into(),
    ]
}

fn hour(micros: i64) -> i64 {
    micros.div_euclid(60 * 60 * 1_000_000)
}
