//! What accounts ask, noted in memory and written about once a second: no request waits for it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::counter;

use crate::ambient;
use crate::domain::accounts::request_log::LoggedRequest;
use crate::domain::{LogId, Timestamp};
use crate::store::{LogPage, Store, StoreError};

/// How many wait to be written. More are dropped: the log is no reason to run out of memory.
const MOST_WAITING: usize = 10_000;
/// So many are written in one transaction: others wait for it.
const AT_ONCE: usize = 2_000;

pub struct RequestLog {
    /// None: nothing is logged.
    kept: Option<Duration>,
    /// Of this process.
    mark: [u8; 3],
    noted: AtomicU32,
    waiting: Mutex<Vec<LoggedRequest>>,
}

impl RequestLog {
    pub fn new(kept: Option<Duration>) -> Self {
        Self {
            kept,
            mark: ambient::random(),
            noted: AtomicU32::new(0),
            waiting: Mutex::default(),
        }
    }

    pub fn is_on(&self) -> bool {
        self.kept.is_some()
    }

    /// How long rows are kept. Those of before it was turned off go at once.
    pub fn kept(&self) -> Duration {
        self.kept.unwrap_or_default()
    }

    /// Ids of one process are in the order in which they are asked for, also within a millisecond.
    pub fn next_id(&self, now: Timestamp) -> LogId {
        let number = self.noted.fetch_add(1, Ordering::Relaxed);
        let mut rest = [0; 10];
        rest[..3].copy_from_slice(&self.mark);
        rest[3..7].copy_from_slice(&number.to_be_bytes());
        rest[7..].copy_from_slice(&ambient::random_for_id()[..3]);
        LogId::new(now, &rest)
    }

    /// Nothing is made of a request that will be dropped.
    pub fn note(&self, logged: impl FnOnce() -> LoggedRequest) {
        if self.waiting().len() >= MOST_WAITING {
            counter!("legwork_request_log_dropped_total").increment(1);
            return;
        }
        let logged = logged();
        self.waiting().push(logged);
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<LoggedRequest>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what was noted. What cannot be written is dropped and counted: it is of use for a few days only.
    pub async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let mut noted = std::mem::take(&mut *self.waiting());
        let mut left = noted.len() as u64;
        for batch in noted.chunks_mut(AT_ONCE) {
            if let Err(error) = write(store, batch).await {
                counter!("legwork_request_log_dropped_total").increment(left);
                return Err(error);
            }
            left -= batch.len() as u64;
        }
        Ok(())
    }
}

async fn write(store: &Store, logged: &mut [LoggedRequest]) -> Result<(), StoreError> {
    let pages = LogPage::of(logged)?;
    store.write(move |tx| tx.log_requests(&pages)).await
}
