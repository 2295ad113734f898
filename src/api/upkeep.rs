//! What the API does between requests.

use std::time::Duration;

use super::{App, Shutdown, idempotency};

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
    loop {
        match idempotency::prune(app).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                tracing::warn!(%error, "cannot forget old answers");
                break;
            }
        }
    }
}
