//! Tracks when each key was last used, and from where: noted in memory on every request, written
//! periodically. Of the address, only a keyed hash is written.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::domain::accounts::same_person::{ADDRESS_SECRET, address_mark};
use crate::domain::{AdminKeyId, ApiKeyId, Timestamp};
use crate::store::{Store, StoreError};

#[derive(Default)]
pub struct KeyUse {
    noted: Mutex<Noted>,
    admins: Mutex<HashMap<AdminKeyId, Timestamp>>,
}

type Noted = HashMap<ApiKeyId, (Timestamp, IpAddr)>;

impl KeyUse {
    pub fn note(&self, key: ApiKeyId, now: Timestamp, address: IpAddr) {
        self.lock().insert(key, (now, address));
    }

    pub fn note_admin(&self, key: AdminKeyId, now: Timestamp) {
        self.admins().insert(key, now);
    }

    /// Writes what was noted. If that fails, it is kept for the next time.
    pub async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        self.flush_admins(store).await?;
        self.flush_keys(store).await
    }

    async fn flush_admins(&self, store: &Store) -> Result<(), StoreError> {
        let noted = std::mem::take(&mut *self.admins());
        if noted.is_empty() {
            return Ok(());
        }
        let touched = noted.clone();
        let written = store
            .write(move |tx| {
                let mut touched = touched.iter();
                touched.try_for_each(|(key, used_at)| tx.touch_admin_key(*key, *used_at))
            })
            .await;
        if written.is_err() {
            let mut newer = self.admins();
            for (key, used_at) in noted {
                newer.entry(key).or_insert(used_at);
            }
        }
        written
    }

    async fn flush_keys(&self, store: &Store) -> Result<(), StoreError> {
        let noted = std::mem::take(&mut *self.lock());
        if noted.is_empty() {
            return Ok(());
        }
        let touched = noted.clone();
        let new = hex(&ambient::random::<32>());
        let written = store
            .write(move |tx| {
                let secret = tx.service_secret(ADDRESS_SECRET, &new)?;
                touched.iter().try_for_each(|(key, (used_at, address))| {
                    let mark = address_mark(&secret, *address);
                    tx.touch_api_key(*key, *used_at, mark.as_deref())
                })
            })
            .await;
        if written.is_err() {
            let mut newer = self.lock();
            for (key, used) in noted {
                newer.entry(key).or_insert(used);
            }
        }
        written
    }

    fn admins(&self) -> std::sync::MutexGuard<'_, HashMap<AdminKeyId, Timestamp>> {
        self.admins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
