//! Periodic maintenance: records key use, deletes old rows and old test files, sweeps orphaned files.

mod key_use;

use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;

use crate::ambient::Clock;
use crate::domain::accounts::same_person::ADDRESS_KEPT;
use crate::domain::webhooks::delivery::EVENTS_KEPT;
use crate::domain::{IDEMPOTENCY_KEPT, Timestamp};
use crate::files::{FileKey, Files, FilesError, Prefix};
use crate::shutdown::Shutdown;
use crate::store::{Store, StoreError, Tx};

pub use key_use::KeyUse;

const TICK: Duration = Duration::from_secs(1);
const TICKS_TO_PRUNE: u32 = 60;
const TICKS_TO_EXPIRE: u32 = 10 * 60;
const TICKS_TO_SWEEP: u32 = 60 * 60;

pub struct Maintenance {
    pub store: Store,
    pub files: Files,
    pub clock: Clock,
    pub metrics: PrometheusHandle,
    pub key_use: Arc<KeyUse>,
    /// Drops the counters of callers who have their full quota back.
    pub forget_idle_callers: Box<dyn Fn() + Send + Sync>,
}

impl Maintenance {
    /// Runs until shutdown.
    pub async fn run(self, shutdown: Shutdown) {
        let mut ticks: u32 = 0;
        loop {
            tokio::select! {
                () = tokio::time::sleep(TICK) => {}
                () = shutdown.started() => break,
            }
            ticks = ticks.wrapping_add(1);
            self.metrics.run_upkeep();
            if let Err(error) = self.key_use.flush(&self.store).await {
                tracing::warn!(%error, "cannot record when keys were last used");
            }
            if ticks.is_multiple_of(TICKS_TO_PRUNE) {
                (self.forget_idle_callers)();
                if let Err(error) = prune(&self.store, self.clock.now()).await {
                    tracing::warn!(%error, "cannot delete old rows");
                }
            }
            if ticks.is_multiple_of(TICKS_TO_EXPIRE)
                && let Err(error) = expire_files(&self.store, &self.files, self.clock.now()).await
            {
                tracing::warn!(%error, "cannot delete the files of old test proofs");
            }
            if ticks.is_multiple_of(TICKS_TO_SWEEP)
                && let Err(error) = sweep_files(&self.store, &self.files, self.clock.now()).await
            {
                tracing::warn!(%error, "cannot sweep files");
            }
        }
    }
}

type Prune = fn(&mut Tx<'_>, Timestamp, i64) -> Result<u64, StoreError>;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What is deleted, and at what age.
const PRUNED: &[(Duration, Prune)] = &[
    (IDEMPOTENCY_KEPT, |tx, before, limit| {
        tx.prune_idempotency_records(before, limit)
    }),
    // Processors resend an event for a few days. After that, no record is needed.
    (DAY.saturating_mul(30), |tx, before, limit| {
        tx.prune_processor_events(before, limit)
    }),
    // Tokens have their own expiry.
    (Duration::ZERO, |tx, before, limit| {
        tx.prune_worker_tokens(before, limit)
    }),
    // Before their events, which they refer to.
    (EVENTS_KEPT, |tx, before, limit| {
        tx.prune_deliveries(before, limit)
    }),
    (EVENTS_KEPT, |tx, before, limit| {
        tx.prune_events(before, limit)
    }),
    (DAY.saturating_mul(90), |tx, before, limit| {
        tx.prune_notifications(before, limit)
    }),
    (ADDRESS_KEPT, |tx, before, limit| {
        tx.forget_addresses(before, limit)
    }),
    (DAY, |tx, before, limit| tx.prune_uploads(before, limit)),
    // Whoever sent nothing for an hour has the whole quota.
    (HOUR, |tx, before, limit| {
        tx.prune_rate_limits(before, limit)
    }),
];

/// Deletes old rows in small batches, so that no one waits long for a batch.
pub async fn prune(store: &Store, now: Timestamp) -> Result<(), StoreError> {
    const BATCH: u64 = 500;
    for &(kept, prune) in PRUNED {
        let before = now.minus(kept);
        while store
            .write(move |tx| prune(tx, before, BATCH as i64))
            .await?
            == BATCH
        {}
    }
    Ok(())
}

/// Deletes orphaned files, which a process leaves when it dies between storing and recording a
/// file, and incomplete uploads. It checks files between one hour and about a day old; it runs
/// every hour, so each file is checked. Returns how many were deleted.
pub async fn sweep_files(
    store: &Store,
    files: &Files,
    now: Timestamp,
) -> Result<usize, FilesError> {
    const BATCH: usize = 500;
    const YOUNG: Duration = Duration::from_secs(60 * 60);
    const OLD: Duration = Duration::from_secs(26 * 60 * 60);
    let young = now.minus(YOUNG);
    let mut removed = files.remove_abandoned(young).await?;
    let mut after = Some(FileKey::first_of(Prefix::Proofs, now.minus(OLD)));
    loop {
        let page = files
            .kept_before(Prefix::Proofs, young, after, BATCH)
            .await?;
        let Some(last) = page.last() else {
            return Ok(removed);
        };
        after = Some(*last);
        for key in page {
            let name = key.to_string();
            let known = store.read(move |tx| tx.file_is_known(&name)).await;
            if !known.map_err(|e: StoreError| FilesError::Unavailable(e.to_string()))? {
                files.delete(key).await?;
                removed += 1;
            }
        }
    }
}

/// Deletes the files of test proofs that are due, and gives the storage back. The proofs stay. Returns
/// how many there were.
pub async fn expire_files(
    store: &Store,
    files: &Files,
    now: Timestamp,
) -> Result<usize, FilesError> {
    const BATCH: i64 = 100;
    let failed = |e: StoreError| FilesError::Unavailable(e.to_string());
    let mut expired = 0;
    loop {
        let page = store.snapshot(move |tx| tx.expired_files(now, BATCH));
        let page = page.await.map_err(failed)?;
        if page.is_empty() {
            return Ok(expired);
        }
        let (mut deleted, mut fault) = (Vec::new(), None);
        for proof in page {
            match delete_all(files, &proof.keys).await {
                Ok(()) => deleted.push(proof),
                // The others do not wait for it.
                Err(error) => fault = Some(error),
            }
        }
        expired += deleted.len();
        // After the files: what is recorded as deleted is never looked for again.
        let record = move |tx: &mut Tx<'_>| {
            deleted
                .iter()
                .try_for_each(|proof| tx.files_deleted(proof, now))
        };
        store.write(record).await.map_err(failed)?;
        if let Some(fault) = fault {
            return Err(fault);
        }
    }
}

async fn delete_all(files: &Files, keys: &[String]) -> Result<(), FilesError> {
    for key in keys.iter().filter_map(|key| FileKey::parse(key)) {
        files.delete(key).await?;
    }
    Ok(())
}
