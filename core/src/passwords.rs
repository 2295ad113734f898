//! Passwords: hashed with argon2id on blocking threads, few at a time, and few may wait.

use std::sync::{Arc, LazyLock};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use crate::ambient;

/// Each hash takes a core and about twenty megabytes for a while.
const AT_ONCE: usize = 2;
/// How many may wait for their turn. The last of them waits for about a second.
const WAITING: usize = 64;

#[derive(Clone, Debug, thiserror::Error)]
pub enum HashError {
    #[error("too many passwords are being checked")]
    Busy,
    #[error("a password cannot be hashed: {0}")]
    Failed(String),
}

fn failed(error: impl std::fmt::Display) -> HashError {
    HashError::Failed(error.to_string())
}

pub struct Passwords {
    /// Held from the first moment on. Whoever gets none is refused.
    places: Arc<Semaphore>,
    /// Held while a password is hashed.
    turns: Arc<Semaphore>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE + WAITING)),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Passwords {
    /// The hash to store.
    pub async fn hash(&self, password: String) -> Result<String, HashError> {
        self.off_thread(move || hash_now(&password)).await?
    }

    /// Whether the password matches the stored hash. Without a hash it does the same work, so that
    /// the time reveals nothing.
    pub async fn verify(
        &self,
        password: String,
        stored: Option<String>,
    ) -> Result<bool, HashError> {
        self.off_thread(move || {
            let known = stored.is_some();
            // Computed on first use, for every caller.
            let decoy = DECOY.clone()?;
            let stored = stored.unwrap_or(decoy);
            let hash = PasswordHash::new(&stored).map_err(failed)?;
            let same = Argon2::default().verify_password(password.as_bytes(), &hash);
            Ok(known && same.is_ok())
        })
        .await?
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HashError> {
        let place = self.places.clone().try_acquire_owned();
        let place = place.map_err(|_| HashError::Busy)?;
        let turn = self.turns.clone().acquire_owned().await.map_err(failed)?;
        tokio::task::spawn_blocking(move || {
            let done = work();
            drop((turn, place));
            done
        })
        .await
        .map_err(failed)
    }
}

static DECOY: LazyLock<Result<String, HashError>> = LazyLock::new(|| hash_now("nobody"));

fn hash_now(password: &str) -> Result<String, HashError> {
    let hash = Argon2::default()
        .hash_password_with_salt(password.as_bytes(), &ambient::random::<16>())
        .map_err(failed)?;
    Ok(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;

    #[tokio::test]
    async fn whoever_finds_no_place_to_wait_is_refused_at_once() {
        let passwords = Passwords::default();
        let held = passwords.turns.clone().acquire_many_owned(AT_ONCE as u32);
        let held = held.await.unwrap();
        let many = (0..AT_ONCE + WAITING + 30).map(|_| passwords.hash("secret".to_owned()));
        let release = async {
            // Runs when all the others have taken a place or been refused.
            tokio::task::yield_now().await;
            assert_eq!(passwords.places.available_permits(), 0);
            drop(held);
        };
        let (hashed, ()) = tokio::join!(join_all(many), release);
        let refused = |hash: &&Result<_, _>| matches!(hash, Err(HashError::Busy));
        assert_eq!(hashed.iter().filter(refused).count(), 30);
        assert_eq!(hashed.iter().filter(|hash| hash.is_ok()).count(), 66);
        assert!(passwords.hash("secret".to_owned()).await.is_ok());
    }
}
