//! How many uploads a sender has in progress in this process, and how much a worker sends in a day.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api::App;
use crate::api::error::ApiError;
use crate::domain::proofs::uploads::{UPLOADS_AT_ONCE, day, seconds_left};
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
pub struct UploadLimits(Arc<Mutex<HashMap<Sender, Line>>>);

/// The uploads of a sender.
struct Line {
    places: Arc<Semaphore>,
    /// How many are in progress or wait for a place.
    present: usize,
}

/// How long an upload waits for a place. Several small files at once are no fault of the sender.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many of a sender may be in progress or wait. Nothing of their bodies is read meanwhile.
const MAX_PRESENT: usize = 16;

impl UploadLimits {
    pub async fn acquire(&self, sender: Sender) -> Result<UploadPermit, ApiError> {
        let (presence, places) = self.join(sender)?;
        let place = tokio::time::timeout(PATIENCE, places.acquire_owned()).await;
        match place {
            Ok(Ok(place)) => Ok(UploadPermit {
                _place: place,
                _presence: presence,
            }),
            _ => Err(ApiError::TooManyUploads),
        }
    }

    fn join(&self, sender: Sender) -> Result<(Presence, Arc<Semaphore>), ApiError> {
        let mut lines = self.lock();
        let line = lines.entry(sender).or_insert_with(|| Line {
            places: Arc::new(Semaphore::new(UPLOADS_AT_ONCE)),
            present: 0,
        });
        if line.present >= MAX_PRESENT {
            return Err(ApiError::TooManyUploads);
        }
        line.present += 1;
        let presence = Presence {
            limits: self.clone(),
            sender,
        };
        Ok((presence, line.places.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Sender, Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held until the upload has been answered; dropping it frees its place.
pub struct UploadPermit {
    _place: OwnedSemaphorePermit,
    _presence: Presence,
}

/// That an upload is in progress or waits.
struct Presence {
    limits: UploadLimits,
    sender: Sender,
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut lines = self.limits.lock();
        if let Some(line) = lines.get_mut(&self.sender) {
            line.present -= 1;
            if line.present == 0 {
                lines.remove(&self.sender);
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
    pub async fn new(
        app: &App,
        worker: WorkerId,
        bytes: u64,
        bytes_a_day: u64,
    ) -> Result<Self, ApiError> {
        let now = app.clock.now();
        let day = day(now);
        let reserve =
            move |tx: &mut crate::store::Tx<'_>| tx.reserve_upload(worker, day, bytes, bytes_a_day);
        if !app.store.write::<_, StoreError, _>(reserve).await? {
            return Err(ApiError::UploadedEnough {
                bytes_a_day,
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
