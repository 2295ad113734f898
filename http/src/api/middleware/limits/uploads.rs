//! How many uploads there are in progress in this process, in all and of one sender, and how much a worker sends in a
//! day.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::api::App;
use crate::api::error::ApiError;
use crate::domain::proofs::uploads::{UPLOADS_AT_ONCE, day, seconds_left};
use crate::domain::{AccountId, WorkerId};
use crate::files::FilesError;
use crate::limits::{ClientAddress, Network};
use crate::store::{Store, StoreError};

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    Worker(WorkerId),
    /// A developer, as the simulated worker.
    Account(AccountId),
    /// Where documents come from. Anybody can sign up as any number of workers.
    Address(Network),
}

impl Sender {
    /// How many of its uploads may be in progress.
    fn at_once(self) -> usize {
        match self {
            Self::Worker(_) | Self::Account(_) => UPLOADS_AT_ONCE,
            Self::Address(_) => DOCUMENTS_OF_ADDRESS,
        }
    }
}

/// Cheap to clone.
#[derive(Clone)]
pub struct UploadLimits(Arc<Shared>);

struct Shared {
    lines: Mutex<HashMap<Sender, Line>>,
    /// All uploads in progress: each takes memory and an open file. Whoever sends documents is not known yet,
    /// and so takes no place of those who send proofs.
    proofs: Arc<Semaphore>,
    documents: Arc<Semaphore>,
}

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
const DOCUMENTS_OF_ADDRESS: usize = 8;
const PROOFS_AT_ONCE: usize = 512;
const DOCUMENTS_AT_ONCE: usize = 64;

impl Default for UploadLimits {
    fn default() -> Self {
        Self(Arc::new(Shared {
            lines: Mutex::default(),
            proofs: Arc::new(Semaphore::new(PROOFS_AT_ONCE)),
            documents: Arc::new(Semaphore::new(DOCUMENTS_AT_ONCE)),
        }))
    }
}

impl UploadLimits {
    /// A place to send proofs.
    pub async fn acquire(&self, sender: Sender) -> Result<UploadPermit, ApiError> {
        self.place(&[sender], &self.0.proofs).await
    }

    /// A place to send documents.
    pub async fn acquire_for_documents(
        &self,
        worker: WorkerId,
        from: ClientAddress,
    ) -> Result<UploadPermit, ApiError> {
        let senders = [Sender::Worker(worker), Sender::Address(from.network())];
        self.place(&senders, &self.0.documents).await
    }

    async fn place(
        &self,
        senders: &[Sender],
        all: &Arc<Semaphore>,
    ) -> Result<UploadPermit, ApiError> {
        let deadline = Instant::now() + PATIENCE;
        let mut permit = UploadPermit::default();
        for sender in senders {
            let (presence, places) = self.join(*sender)?;
            permit.presences.push(presence);
            let place = timeout_at(deadline, places.acquire_owned()).await;
            let place = place.ok().and_then(Result::ok);
            permit.places.push(place.ok_or(ApiError::TooManyUploads)?);
        }
        let place = timeout_at(deadline, all.clone().acquire_owned()).await;
        let full =
            || FilesError::Unavailable("too many files are being received at once".to_owned());
        let place = place.ok().and_then(Result::ok).ok_or_else(full)?;
        permit.places.push(place);
        Ok(permit)
    }

    fn join(&self, sender: Sender) -> Result<(Presence, Arc<Semaphore>), ApiError> {
        let mut lines = self.lock();
        let line = lines.entry(sender).or_insert_with(|| Line {
            places: Arc::new(Semaphore::new(sender.at_once())),
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
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held until the upload has been answered; dropping it frees its places.
#[derive(Default)]
pub struct UploadPermit {
    places: Vec<OwnedSemaphorePermit>,
    presences: Vec<Presence>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn worker(number: u16) -> WorkerId {
        let [high, low] = number.to_be_bytes();
        WorkerId::new(
            Timestamp::from_millis(0),
            &[0, 0, 0, 0, 0, 0, 0, 0, high, low],
        )
    }

    fn address(number: u8) -> ClientAddress {
        std::net::IpAddr::from([192, 0, 2, number]).into()
    }

    /// Takes places for documents of as many workers as there are, until one is refused.
    async fn documents(
        limits: &UploadLimits,
        from: impl Fn(u16) -> ClientAddress,
    ) -> Vec<UploadPermit> {
        let mut held = Vec::new();
        for number in 0..u16::MAX {
            match limits
                .acquire_for_documents(worker(number), from(number))
                .await
            {
                Ok(permit) => held.push(permit),
                Err(_) => break,
            }
        }
        held
    }

    #[tokio::test]
    async fn an_address_sends_few_documents_at_once_whoever_it_says_it_is() {
        let limits = UploadLimits::default();
        let held = documents(&limits, |_| address(1)).await;
        assert_eq!(held.len(), DOCUMENTS_OF_ADDRESS);
        let other = limits.acquire_for_documents(worker(99), address(2)).await;
        assert!(other.is_ok());
        drop((held, other));
        assert!(limits.lock().is_empty());
    }

    #[tokio::test]
    async fn documents_leave_the_places_of_proofs() {
        let limits = UploadLimits::default();
        let held = documents(&limits, |number| address((number / 4) as u8)).await;
        assert_eq!(held.len(), DOCUMENTS_AT_ONCE);
        assert!(limits.acquire(Sender::Worker(worker(99))).await.is_ok());
        let mut proofs = Vec::new();
        for number in 1_000..u16::MAX {
            match limits.acquire(Sender::Worker(worker(number))).await {
                Ok(permit) => proofs.push(permit),
                Err(_) => break,
            }
        }
        assert_eq!(proofs.len(), PROOFS_AT_ONCE);
    }
}
