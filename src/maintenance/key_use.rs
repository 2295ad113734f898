//! Tracks when each key was last used: noted in memory on every request, written periodically.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::domain::{ApiKeyId, Timestamp};
use crate::store::{Store, StoreError};

#[derive(Default)]
pub struct KeyUse {
    noted: Mutex<HashMap<ApiKeyId, Timestamp>>,
}

impl KeyUse {
    pub fn note(&self, key: ApiKeyId, now: Timestamp) {
        self.lock().insert(key, now);
    }

    /// Writes the noted times. If that fails, they are kept for the next time.
    pub async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let noted = std::mem::take(&mut *self.lock());
        if noted.is_empty() {
            return Ok(());
        }
        let touched = noted.clone();
        let written = store
            .write(move |tx| {
                touched
                    .iter()
                    .try_for_each(|(key, used_at)| tx.touch_api_key(*key, *used_at))
            })
            .await;
        if written.is_err() {
            let mut newer = self.lock();
            for (key, used_at) in noted {
                newer.entry(key).or_insert(used_at);
            }
        }
        written
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ApiKeyId, Timestamp>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
