//! What the API does between requests.

use std::time::Duration;

use super::{App, Shutdown, idempotency};
use crate::domain::Timestamp;
use crate::domain::delivery::EVENTS_KEPT;
use crate::files::{FileKey, FilesError, Shelf};
use crate::store::{Store, StoreError, Tx};

const EVERY: Duration = Duration::from_secs(1);
const TICKS_TO_PRUNE: u32 = 60;
const TICKS_TO_SWEEP: u32 = 60 * 60;

/// Writes down which keys were used, folds metrics, forgets old answers and idle accounts; until shutdown.
pub async fn upkeep(app: App, shutdown: Shutdown) {
    let mut ticks: u32 = 0;
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = shutdown.started() => break,
        }
        ticks = ticks.wrapping_add(1);
        app.metrics.run_upkeep();
        if let Err(error) = app.key_use.flush(&app.store).await {
            tracing::warn!(%error, "cannot write when keys were used");
        }
        if ticks.is_multiple_of(TICKS_TO_PRUNE) {
            prune(&app).await;
        }
        if ticks.is_multiple_of(TICKS_TO_SWEEP)
            && let Err(error) = sweep_files(&app).await
        {
            tracing::warn!(%error, "cannot sweep files");
        }
    }
}

async fn prune(app: &App) {
    if let Some(limits) = &app.rate_limits {
        limits.forget_idle();
    }
    app.sign_in_limits.forget_idle();
    if let Err(error) = forget(&app.store, app.clock.now()).await {
        tracing::warn!(%error, "cannot forget what is old");
    }
}

type Prune = fn(&mut Tx<'_>, Timestamp, i64) -> Result<u64, StoreError>;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What is forgotten, and how old it is then.
const FORGOTTEN: [(Duration, Prune); 6] = [
    (idempotency::KEPT, |tx, before, limit| {
        tx.prune_idempotency_records(before, limit)
    }),
    // Processors send a notice again for a few days; after that nobody needs to know it was handled.
    (DAY.saturating_mul(30), |tx, before, limit| {
        tx.prune_processor_notices(before, limit)
    }),
    // Tokens know themselves when their time is over.
    (Duration::ZERO, |tx, before, limit| {
        tx.prune_worker_tokens(before, limit)
    }),
    // Before their events, without which they could not be made.
    (EVENTS_KEPT, |tx, before, limit| {
        tx.prune_deliveries(before, limit)
    }),
    (EVENTS_KEPT, |tx, before, limit| {
        tx.prune_events(before, limit)
    }),
    (DAY.saturating_mul(90), |tx, before, limit| {
        tx.prune_notices(before, limit)
    }),
];

/// Small batches, so that nobody waits long for one.
pub async fn forget(store: &Store, now: Timestamp) -> Result<(), StoreError> {
    const AT_ONCE: u64 = 500;
    for (kept, prune) in FORGOTTEN {
        let before = now.minus(kept);
        while store
            .write(move |tx| prune(tx, before, AT_ONCE as i64))
            .await?
            == AT_ONCE
        {}
    }
    Ok(())
}

/// Removes files that a process left behind when it died between keeping a file and recording it:
/// those older than an hour and younger than a day or so, since each of them is looked at once an
/// hour; and what never arrived in full. Tells how many.
pub async fn sweep_files(app: &App) -> Result<usize, FilesError> {
    const AT_ONCE: usize = 500;
    const YOUNG: Duration = Duration::from_secs(60 * 60);
    const OLD: Duration = Duration::from_secs(26 * 60 * 60);
    let now = app.clock.now();
    let mut removed = app.files.remove_abandoned(now.minus(YOUNG)).await?;
    let mut after = Some(FileKey::first_of(Shelf::Proofs, now.minus(OLD)));
    loop {
        let young = now.minus(YOUNG);
        let page = app
            .files
            .kept_before(Shelf::Proofs, young, after, AT_ONCE)
            .await?;
        let Some(last) = page.last() else {
            return Ok(removed);
        };
        after = Some(*last);
        for key in page {
            let name = key.to_string();
            let known = app.store.read(move |tx| tx.file_is_known(&name)).await;
            if !known.map_err(|e| FilesError::Unavailable(e.to_string()))? {
                app.files.delete(key).await?;
                removed += 1;
            }
        }
    }
}
