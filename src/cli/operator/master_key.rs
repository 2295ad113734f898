//! The master key of this installation, and what a running server does about it.

use std::time::Duration;

use crate::ambient::Clock;
use crate::cli::{Failure, block_on};
use crate::files::{Files, SigningKeys};
use crate::seal::KeySource;
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::store::{Store, UnlockError};
use crate::usecases::seal_plain_texts;

/// The names of the service's own secrets in the database.
pub const SIGNING_KEYS: &str = "file_urls";
pub const PUSH_KEY: &str = "vapid";

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

/// Whether the keys are those of the database, in words. Changes nothing.
pub fn check(settings: &Settings) -> Result<String, String> {
    let source = source(settings);
    let keys = source.load().map_err(|error| error.to_string())?;
    let (name, pending) = (source.name(), Store::lacking_migrations(&settings.database));
    match pending {
        Ok(0) => {}
        _ if keys.is_empty() => return Ok(format!("the first start creates {name}")),
        _ => return Ok(format!("{name} is readable; the database is not there yet")),
    }
    let store = Store::open(&settings.database).map_err(|error| error.to_string())?;
    let current = block_on(store.check_keys(&source)).map_err(|error| error.to_string())?;
    match current {
        Ok(Some(id)) => Ok(format!("{name} opens the database (key {id})")),
        Ok(None) if keys.is_empty() => Ok(format!("the next start creates {name}")),
        Ok(None) => Ok(format!("{name} is readable; nothing is sealed yet")),
        Err(error) => Err(error.to_string()),
    }
}

/// Follows changes of the keys until shutdown.
pub async fn follow(store: Store, files: Files, clock: Clock, shutdown: Shutdown) {
    loop {
        if let Err(error) = refresh(&store, &files, &clock).await {
            tracing::warn!(%error, "cannot refresh the master keys");
        }
        tokio::select! {
            () = tokio::time::sleep(REFRESH_INTERVAL) => {}
            () = shutdown.started() => return,
        }
    }
}

async fn refresh(store: &Store, files: &Files, clock: &Clock) -> Result<(), UnlockError> {
    store.refresh_keys(clock.now()).await?;
    let keys = store
        .read(|tx| tx.find_service_secret(SIGNING_KEYS))
        .await?;
    if let Some(keys) = keys {
        files.set_signing_keys(SigningKeys::parse(&keys));
    }
    while store.write(seal_plain_texts).await? {}
    Ok(())
}
