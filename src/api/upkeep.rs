//! What the API does between requests.

use std::time::Duration;

use super::{App, Shutdown, idempotency};
use crate::files::{FileKey, FilesError, Shelf};
use crate::store::StoreError;

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
    if let Err(error) = forget(app).await {
        tracing::warn!(%error, "cannot forget what is old");
    }
}

/// Small batches, so that nobody waits long for one.
async fn forget(app: &App) -> Result<(), StoreError> {
    while idempotency::prune(app).await? {}
    while prune_notices(app).await? {}
    while prune_tokens(app).await? {}
    Ok(())
}

/// Processors send a notice again for a few days; after that nobody needs to know it was handled.
async fn prune_notices(app: &App) -> Result<bool, StoreError> {
    const AT_ONCE: u64 = 500;
    const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    let forgotten = app.clock.now().minus(KEPT);
    let pruned = app
        .store
        .write(move |tx| tx.prune_notices(forgotten, AT_ONCE as i64))
        .await?;
    Ok(pruned == AT_ONCE)
}

async fn prune_tokens(app: &App) -> Result<bool, StoreError> {
    const AT_ONCE: u64 = 500;
    let now = app.clock.now();
    let pruned = app
        .store
        .write(move |tx| tx.prune_worker_tokens(now, AT_ONCE as i64))
        .await?;
    Ok(pruned == AT_ONCE)
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
