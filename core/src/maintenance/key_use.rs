//! Tracks when each key was last used, and from where: noted in memory on every request, written
//! periodically. Of the address, only a keyed hash is written. The same for tokens of workers and keys of
//! admins, without an address.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::domain::accounts::same_person::{ADDRESS_SECRET, address_mark};
use crate::domain::{AdminKeyId, ApiKeyId, Timestamp};
use crate::store::{Store, StoreError};

#[derive(Default)]
pub struct KeyUse {
    keys: Noted<ApiKeyId, (Timestamp, IpAddr)>,
    admins: Noted<AdminKeyId, Timestamp>,
    /// By the hash of the token.
    tokens: Noted<String, Timestamp>,
    /// What the mandates of keys have refused.
    refusals: Noted<ApiKeyId, Refused>,
}

/// What a mandate refused last: when, and the limit that stood in the way.
#[derive(Clone, Copy)]
struct Refused {
    at: Timestamp,
    limit: &'static str,
}

impl KeyUse {
    pub fn note(&self, key: ApiKeyId, now: Timestamp, address: IpAddr) {
        self.keys.lock().insert(key, (now, address));
    }

    pub fn note_admin(&self, key: AdminKeyId, now: Timestamp) {
        self.admins.lock().insert(key, now);
    }

    pub fn note_token(&self, token_hash: String, now: Timestamp) {
        self.tokens.lock().insert(token_hash, now);
    }

    pub fn note_refusal(&self, key: ApiKeyId, now: Timestamp, limit: &'static str) {
        self.refusals.lock().insert(key, Refused { at: now, limit });
    }

    /// Writes what was noted. If that fails, it is kept for the next time.
    pub async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let admins = async |used: HashMap<AdminKeyId, Timestamp>| {
            let write = store.write(move |tx| {
                let mut used = used.iter();
                used.try_for_each(|(key, used_at)| tx.touch_admin_key(*key, *used_at))
            });
            write.await
        };
        self.admins.flush(admins).await?;
        let tokens = async |used: HashMap<String, Timestamp>| {
            let write = store.write(move |tx| {
                let mut used = used.iter();
                used.try_for_each(|(hash, used_at)| tx.worker_token_used(hash, *used_at))
            });
            write.await
        };
        self.tokens.flush(tokens).await?;
        let refusals = async |noted: HashMap<ApiKeyId, Refused>| {
            let write = store.write(move |tx| {
                let mut noted = noted.iter();
                noted.try_for_each(|(key, last)| tx.note_refusal(*key, last.at, last.limit))
            });
            write.await
        };
        self.refusals.flush(refusals).await?;
        let new = hex(&ambient::random::<32>());
        let keys = async |used: HashMap<ApiKeyId, (Timestamp, IpAddr)>| {
            let write = store.write(move |tx| {
                let secret = tx.service_secret(ADDRESS_SECRET, &new)?;
                used.iter().try_for_each(|(key, (used_at, address))| {
                    let mark = address_mark(&secret, *address);
                    tx.touch_api_key(*key, *used_at, mark.as_deref())
                })
            });
            write.await
        };
        self.keys.flush(keys).await
    }
}

/// What was noted last, for each key, and is not written yet.
struct Noted<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Noted<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Noted<K, V> {
    async fn flush(
        &self,
        write: impl AsyncFnOnce(HashMap<K, V>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let noted = std::mem::take(&mut *self.lock());
        if noted.is_empty() {
            return Ok(());
        }
        let written = write(noted.clone()).await;
        if written.is_err() {
            let mut newer = self.lock();
            for (key, used) in noted {
                newer.entry(key).or_insert(used);
            }
        }
        written
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
