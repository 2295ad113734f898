//! Periodic maintenance: records key use, deletes old rows, old documents, old exports, old uploads and
//! old test files, sweeps orphaned files, indexes the metadata of older tasks, counts workers.

mod coverage;
mod files_owner;
mod key_use;
mod metadata;
mod request_log;

use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics_exporter_prometheus::PrometheusHandle;

use crate::ambient::Clock;
use crate::domain::accounts::same_person::ADDRESS_KEPT;
use crate::domain::proofs::uploads::upload::REMEMBERED;
use crate::domain::webhooks::delivery::EVENTS_KEPT;
use crate::domain::{CheckedSkills, IDEMPOTENCY_KEPT, Owner, Timestamp};
use crate::files::{FileKey, Files, FilesError, Prefix};
use crate::shutdown::Shutdown;
use crate::store::{CountedTasks, PRUNED_AT_ONCE, Store, StoreError, Tx};

pub use coverage::count_workers;
pub use files_owner::{files_are_ours, hold_files};
pub use key_use::KeyUse;
pub use metadata::{Indexed, index_metadata};
pub use request_log::RequestLog;

const TICK: Duration = Duration::from_secs(1);
const PRUNE_EVERY: Duration = Duration::from_secs(60);
const EXPIRE_EVERY: Duration = Duration::from_secs(10 * 60);
const EXPIRIES_TO_SWEEP: u32 = 6;

pub struct Maintenance {
    pub store: Store,
    pub files: Files,
    pub clock: Clock,
    pub metrics: PrometheusHandle,
    pub key_use: Arc<KeyUse>,
    pub request_log: Arc<RequestLog>,
    /// How long a worker's documents are kept after the decision on them.
    pub documents_kept: Duration,
    /// Skills that count only when they are confirmed.
    pub checked_skills: CheckedSkills,
    /// Drops the counters of callers who have their full quota back.
    pub forget_idle_callers: Box<dyn Fn() + Send + Sync>,
}

impl Maintenance {
    /// Runs until shutdown. What takes long does not delay the rest.
    pub async fn run(self, shutdown: Shutdown) {
        tokio::join!(
            self.record(&shutdown),
            self.delete_rows(&shutdown),
            self.delete_files(&shutdown),
            self.count_tasks(&shutdown),
            self.index_metadata(&shutdown),
            self.count_workers(&shutdown),
        );
    }

    async fn record(&self, shutdown: &Shutdown) {
        while ticks(TICK, shutdown).await {
            self.metrics.run_upkeep();
            if let Err(error) = self.key_use.flush(&self.store).await {
                tracing::warn!(%error, "cannot record when keys were last used");
            }
            if let Err(error) = self.request_log.flush(&self.store).await {
                tracing::warn!(%error, "cannot record what accounts asked");
            }
        }
    }

    async fn delete_rows(&self, shutdown: &Shutdown) {
        while ticks(PRUNE_EVERY, shutdown).await {
            (self.forget_idle_callers)();
            let pruned = tokio::select! {
                pruned = self.prune() => pruned,
                () = shutdown.started() => break,
            };
            if let Err(error) = pruned {
                tracing::warn!(%error, "cannot delete old rows");
            }
        }
    }

    async fn prune(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        prune(&self.store, now).await?;
        prune_request_log(&self.store, self.request_log.kept(), now).await
    }

    async fn delete_files(&self, shutdown: &Shutdown) {
        let mut expiries: u32 = 0;
        let mut is_told = false;
        while ticks(EXPIRE_EVERY, shutdown).await {
            if let Err(error) = expire_files(&self.store, &self.files, self.clock.now()).await {
                tracing::warn!(%error, "cannot delete the files of old test proofs");
            }
            let (now, kept) = (self.clock.now(), self.documents_kept);
            if let Err(error) = expire_documents(&self.store, kept, now).await {
                tracing::warn!(%error, "cannot delete old identity documents");
            }
            if let Err(error) = expire_exports(&self.store, self.clock.now()).await {
                tracing::warn!(%error, "cannot delete old exports");
            }
            if let Err(error) = expire_uploads(&self.store, self.clock.now()).await {
                tracing::warn!(%error, "cannot delete uploads that have expired");
            }
            expiries = expiries.wrapping_add(1);
            // Not the first time: before a copy of the database takes a token for its own, the servers of the
            // original have replaced it.
            if expiries > 1 {
                self.hold_files(&mut is_told).await;
            }
            // Looks again whose they are.
            if expiries.is_multiple_of(EXPIRIES_TO_SWEEP)
                && let Err(error) = sweep_files(&self.store, &self.files, self.clock.now()).await
            {
                tracing::warn!(%error, "cannot sweep files");
            }
        }
    }

    async fn hold_files(&self, is_told: &mut bool) {
        match hold_files(&self.store, &self.files).await {
            Ok(true) => *is_told = false,
            Ok(false) if *is_told => {}
            Ok(false) => {
                *is_told = true;
                tracing::warn!(
                    "the files at LEGWORK_FILES_URL belong to another database, or this one was restored: \
                     files that it does not know are not deleted. If no other server uses them, delete \
                     the file `owner` there"
                );
            }
            Err(error) => tracing::warn!(%error, "cannot tell whose files these are"),
        }
    }

    async fn count_tasks(&self, shutdown: &Shutdown) {
        let mut after = None;
        while ticks(TICK, shutdown).await {
            match advance_ranges(&self.store, after).await {
                Ok(last) => after = last,
                Err(error) => tracing::warn!(%error, "cannot count the tasks of large accounts"),
            }
        }
    }
}

impl Maintenance {
    async fn count_workers(&self, shutdown: &Shutdown) {
        while ticks(TICK, shutdown).await {
            let now = self.clock.now();
            let counted = coverage::count_workers(&self.store, &self.checked_skills, now).await;
            if let Err(error) = counted {
                tracing::warn!(%error, "cannot count the workers who can accept tasks");
            }
        }
    }

    async fn index_metadata(&self, shutdown: &Shutdown) {
        let mut every = TICK;
        while ticks(every, shutdown).await {
            every = match metadata::index_metadata(&self.store, self.clock.now()).await {
                Ok(Indexed::Some) => TICK,
                Ok(Indexed::ForNow) => PRUNE_EVERY,
                Ok(Indexed::All) => return,
                Err(error) => {
                    tracing::warn!(%error, "cannot index the metadata of older tasks");
                    PRUNE_EVERY
                }
            };
        }
    }
}

/// Waits. False when the server stops.
async fn ticks(every: Duration, shutdown: &Shutdown) -> bool {
    tokio::select! {
        () = tokio::time::sleep(every) => true,
        () = shutdown.started() => false,
    }
}

type Prune = fn(&mut Tx<'_>, Timestamp) -> Result<u64, StoreError>;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What is deleted, and at what age.
const PRUNED: &[(Duration, Prune)] = &[
    (IDEMPOTENCY_KEPT, |tx, before| {
        tx.prune_idempotency_records(before)
    }),
    // Processors resend an event for a few days. After that, no record is needed.
    (DAY.saturating_mul(30), |tx, before| {
        tx.prune_processor_events(before)
    }),
    // Tokens have their own expiry.
    (Duration::ZERO, |tx, before| tx.prune_worker_tokens(before)),
    (Duration::ZERO, |tx, before| tx.prune_sessions(before)),
    (Duration::ZERO, |tx, before| tx.prune_challenges(before)),
    (DAY, |tx, before| tx.prune_mail_links(before)),
    (Duration::ZERO, |tx, before| tx.prune_admin_sessions(before)),
    // Before their events, which they refer to.
    (EVENTS_KEPT, |tx, before| tx.prune_deliveries(before)),
    (EVENTS_KEPT, |tx, before| tx.prune_events(before)),
    (DAY.saturating_mul(90), |tx, before| {
        tx.prune_notifications(before)
    }),
    (ADDRESS_KEPT, |tx, before| tx.forget_addresses(before)),
    (DAY, |tx, before| tx.prune_uploads(before)),
    (REMEMBERED, |tx, before| tx.prune_ended_uploads(before)),
    // Quotes say themselves how long they are kept.
    (Duration::ZERO, |tx, before| tx.prune_quotes(before)),
    // Whoever sent nothing for an hour has the whole quota.
    (HOUR, |tx, before| tx.prune_rate_limits(before)),
];

/// Deletes old rows in small batches, each in a transaction of its own. After a batch it waits as long
/// as that took, so that others have the database at least half of the time.
pub async fn prune(store: &Store, now: Timestamp) -> Result<(), StoreError> {
    for &(kept, prune) in PRUNED {
        prune_all(store, now.minus(kept), prune).await?;
    }
    Ok(())
}

/// The same for what accounts asked, which is kept for as long as a setting says.
pub async fn prune_request_log(
    store: &Store,
    kept: Duration,
    now: Timestamp,
) -> Result<(), StoreError> {
    let prune: Prune = |tx, before| tx.prune_request_log(before);
    prune_all(store, now.minus(kept), prune).await
}

async fn prune_all(store: &Store, before: Timestamp, prune: Prune) -> Result<(), StoreError> {
    loop {
        let begun = Instant::now();
        let pruned = store.write(move |tx| prune(tx, before)).await?;
        if pruned < PRUNED_AT_ONCE {
            return Ok(());
        }
        tokio::time::sleep(begun.elapsed()).await;
    }
}

/// Brings the counts of the next owners with many tasks forward. Returns the last one, or none when
/// there are no more.
pub async fn advance_ranges(
    store: &Store,
    after: Option<Owner>,
) -> Result<Option<Owner>, StoreError> {
    const OWNERS: i64 = 100;
    let owners = store.snapshot(move |tx| tx.owners_with_ranges(after, OWNERS));
    let owners: Vec<Owner> = owners.await?;
    for owner in owners.iter().copied() {
        if store.read(move |tx| tx.ranges_are_missing(owner)).await? {
            let counted = store.snapshot(move |tx| tx.count_all_tasks(owner));
            let counted: CountedTasks = counted.await?;
            let keep = move |tx: &mut Tx<'_>| tx.store_ranges(owner, &counted);
            store.write(keep).await?;
        }
        while store.write(move |tx| tx.advance_ranges(owner)).await? {}
    }
    Ok(owners.last().copied())
}

/// Deletes orphaned files, which a process leaves when it dies between storing and recording a
/// file, and incomplete uploads. It checks files between one hour and about a day old; it runs
/// every hour, so each file is checked. Files of another database are left alone. Returns how many were
/// deleted.
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
    if !files_are_ours(store, files).await? {
        return Ok(removed);
    }
    let mut prefixes = Prefix::ALL.into_iter();
    let first_of = |prefix| FileKey::first_of(prefix, now.minus(OLD));
    let mut after = prefixes.next().map(first_of);
    while let Some(place) = after {
        let page = files.kept_before(place.prefix(), young, after, BATCH);
        let page = page.await?;
        after = match page.last() {
            Some(last) => Some(*last),
            None => prefixes.next().map(first_of),
        };
        for key in page {
            let name = key.to_string();
            let known = store.read(move |tx| tx.file_is_known(&name)).await;
            if !known.map_err(|e: StoreError| FilesError::Unavailable(e.to_string()))? {
                files.delete(key).await?;
                removed += 1;
            }
        }
    }
    Ok(removed)
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

/// Deletes the documents of workers that were decided on so long ago. Jobs delete their files.
pub async fn expire_documents(
    store: &Store,
    kept: Duration,
    now: Timestamp,
) -> Result<(), StoreError> {
    let before = now.minus(kept);
    while store
        .write(move |tx| tx.drop_decided_documents(before, now))
        .await?
    {}
    Ok(())
}

/// Deletes exports that have expired. Jobs delete their files.
pub async fn expire_exports(store: &Store, now: Timestamp) -> Result<(), StoreError> {
    while store.write(move |tx| tx.drop_expired_exports(now)).await? {}
    Ok(())
}

/// Ends uploads that have expired. Jobs delete their files.
pub async fn expire_uploads(store: &Store, now: Timestamp) -> Result<(), StoreError> {
    while store.write(move |tx| tx.end_expired_uploads(now)).await? {}
    Ok(())
}

async fn delete_all(files: &Files, keys: &[String]) -> Result<(), FilesError> {
    for key in keys.iter().filter_map(|key| FileKey::parse(key)) {
        files.delete(key).await?;
    }
    Ok(())
}
