//! Passwords: hashed with argon2id on blocking threads, few at a time.

use std::sync::{Arc, LazyLock};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use crate::ambient;

/// Each hash takes a core and about twenty megabytes for a while.
const AT_ONCE: usize = 2;

static PERMITS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(AT_ONCE)));

#[derive(Clone, Debug, thiserror::Error)]
#[error("a password cannot be hashed: {0}")]
pub struct HashError(String);

/// The hash to store.
pub async fn hash(password: String) -> Result<String, HashError> {
    off_thread(move || hash_now(&password)).await?
}

/// Whether the password matches the stored hash. Without a hash it does the same work, so that the
/// time reveals nothing.
pub async fn verify(password: String, stored: Option<String>) -> Result<bool, HashError> {
    off_thread(move || {
        let known = stored.is_some();
        // Computed on first use, for every caller.
        let decoy = DECOY.clone()?;
        let stored = stored.unwrap_or(decoy);
        let hash = PasswordHash::new(&stored).map_err(|e| HashError(e.to_string()))?;
        let same = Argon2::default().verify_password(password.as_bytes(), &hash);
        Ok(known && same.is_ok())
    })
    .await?
}

static DECOY: LazyLock<Result<String, HashError>> = LazyLock::new(|| hash_now("nobody"));

fn hash_now(password: &str) -> Result<String, HashError> {
    let hash = Argon2::default()
        .hash_password_with_salt(password.as_bytes(), &ambient::random::<16>())
        .map_err(|e| HashError(e.to_string()))?;
    Ok(hash.to_string())
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HashError> {
    let permit = PERMITS.clone().acquire_owned().await;
    let permit = permit.map_err(|e| HashError(e.to_string()))?;
    tokio::task::spawn_blocking(move || {
        let done = work();
        drop(permit);
        done
    })
    .await
    .map_err(|e| HashError(e.to_string()))
}
