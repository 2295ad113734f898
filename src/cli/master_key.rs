//! The master key of this installation, and what a running server does about it.

use std::time::Duration;

use super::{Failure, block_on};
use crate::ambient::Clock;
use crate::seal::KeySource;
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::store::{Store, UnlockError};
use crate::usecases::seal_plain_texts;

/// How soon a server learns of a rotation, and seals what an older program wrote.
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);

pub fn source(settings: &Settings) -> KeySource {
    KeySource::new(settings.master_key.as_ref(), &settings.data)
}

/// Unlocks the store with the master key, which is created with the database.
pub fn unlock(store: Store, settings: &Settings) -> Result<Store, Failure> {
    let now = Clock::system().now();
    Ok(block_on(store.unlock(source(settings), now))??)
}

/// Follows changes of the master key until shutdown.
pub async fn follow(store: Store, clock: Clock, shutdown: Shutdown) {
    loop {
        if let Err(error) = refresh(&store, &clock).await {
            tracing::warn!(%error, "cannot refresh the master keys");
        }
        tokio::select! {
            () = tokio::time::sleep(REFRESH_INTERVAL) => {}
            () = shutdown.started() => return,
        }
    }
}

async fn refresh(store: &Store, clock: &Clock) -> Result<(), UnlockError> {
    store.refresh_keys(clock.now()).await?;
    while store.write(seal_plain_texts).await? {}
    Ok(())
}
