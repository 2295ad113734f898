//! How many uploads a sender has in progress in this process, and how much a worker sends in a day.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::App;
use crate::api::error::ApiError;
use crate::domain::uploads::{BYTES_A_DAY, UPLOADS_AT_ONCE, day, seconds_left};
use crate::domain::{AccountId, WorkerId};
use crate::store::{Store, StoreError};

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    Worker(WorkerId),
    /// A developer, as the simulated worker.
    Account(AccountId),
}

#[derive(Clone, Default)]
pub struct UploadLimits(Arc<Mutex<HashMap<Sender, usize>>>);

impl UploadLimits {
    pub fn acquire(&self, sender: Sender) -> Result<UploadPermit, ApiError> {
        let mut open = self.lock();
        let count = open.entry(sender).or_default();
        if *count >= UPLOADS_AT_ONCE {
            return Err(ApiError::TooManyUploads);
        }
        *count += 1;
        Ok(UploadPermit {
            limits: self.clone(),
            sender,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Sender, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held until the upload has been answered; dropping it frees its place.
pub struct UploadPermit {
    limits: UploadLimits,
    sender: Sender,
}

impl Drop for UploadPermit {
    fn drop(&mut self) {
        let mut open = self.limits.lock();
        if let Some(count) = open.get_mut(&self.sender) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.sender);
            }
        }
    }
}

/// Bytes of a worker's day that an upload has reserved. What was not sent is given back on drop.
pub struct Reserved {
    store: Store,
    worker: WorkerId,
    day: i64,
    bytes: u64,
    /// What has arrived so far.
    pub received: Arc<AtomicU64>,
}

impl Reserved {
    /// Reserves before the first byte is read, so that uploads at once, on several servers, cannot
    /// exceed the limit together.
    pub async fn new(app: &App, worker: WorkerId, bytes: u64) -> Result<Self, ApiError> {
        let now = app.clock.now();
        let day = day(now);
        let reserve =
            move |tx: &mut crate::store::Tx<'_>| tx.reserve_upload(worker, day, bytes, BYTES_A_DAY);
        if !app.store.write::<_, StoreError, _>(reserve).await? {
            return Err(ApiError::UploadedEnough {
                retry_after_seconds: seconds_left(now),
            });
        }
        Ok(Self {
            store: app.store.clone(),
            worker,
            day,
            bytes,
            received: Arc::default(),
        })
    }
}

impl Drop for Reserved {
    /// Also when the sender is gone, and nobody waits for the handler any more.
    fn drop(&mut self) {
        let (worker, day) = (self.worker, self.day);
        let received = self.received.load(Ordering::Relaxed);
        let unsent = self.bytes.saturating_sub(received);
        if unsent == 0 {
            return;
        }
        let store = self.store.clone();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let given = store.write(move |tx| tx.give_back_upload(worker, day, unsent));
            if let Err::<(), StoreError>(error) = given.await {
                tracing::warn!(%error, "cannot give back what an upload had reserved");
            }
        });
    }
}
