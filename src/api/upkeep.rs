//! What the API does between requests.

use std::time::Duration;

use super::{App, Shutdown, idempotency};
use crate::store::StoreError;

const EVERY: Duration = Duration::from_secs(1);
const TICKS_TO_PRUNE: u32 = 60;

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
    }
}

async fn prune(app: &App) {
    if let Some(limits) = &app.rate_limits {
        limits.forget_idle();
    }
    if let Err(error) = forget(app).await {
        tracing::warn!(%error, "cannot forget what is old");
    }
}

/// Small batches, so that nobody waits long for one.
async fn forget(app: &App) -> Result<(), StoreError> {
    while idempotency::prune(app).await? {}
    while prune_notices(app).await? {}
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
