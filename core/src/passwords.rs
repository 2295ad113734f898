//! Passwords: hashed with argon2id on blocking threads, few at a time, and few may wait.
//!
//! Whoever sends many must not keep others out. So those who are known wait in places of their own, and when half of
//! the places are taken, only one of them is left to each address.

mod places;

use std::sync::{Arc, LazyLock};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use crate::ambient;
use crate::limits::Applicant;
use places::Places;

/// Each hash takes a core and about twenty megabytes for a while.
const AT_ONCE: usize = 2;
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
    places: Arc<Places>,
    /// Held while a password is hashed.
    turns: Arc<Semaphore>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self {
            places: Arc::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Passwords {
    /// The hash to store.
    pub async fn hash(&self, password: String, applicant: Applicant) -> Result<String, HashError> {
        self.off_thread(applicant, move || hash_now(&password))
            .await?
    }

    /// Whether the password matches the stored hash. Without a hash it does the same work, so that
    /// the time reveals nothing.
    pub async fn verify(
        &self,
        password: String,
        stored: Option<String>,
        applicant: Applicant,
    ) -> Result<bool, HashError> {
        self.off_thread(applicant, move || {
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
        applicant: Applicant,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HashError> {
        let place = self.places.take(applicant).ok_or(HashError::Busy)?;
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
    use crate::limits::ClientAddress;
    use futures_util::future::join_all;
    use places::PLACES;
    use std::net::{IpAddr, Ipv4Addr};

    fn from(number: u32) -> ClientAddress {
        ClientAddress::from(IpAddr::V4(Ipv4Addr::from_bits(number)))
    }

    #[tokio::test]
    async fn whoever_finds_no_place_to_wait_is_refused_at_once() {
        let passwords = Passwords::default();
        let held = passwords.turns.clone().acquire_many_owned(AT_ONCE as u32);
        let held = held.await.unwrap();
        let hash = |applicant| passwords.hash("secret".to_owned(), applicant);
        let many = (0..PLACES as u32 + 30).map(|number| hash(Applicant::stranger(from(number))));
        let release = async {
            // Runs when all the others have taken a place or been refused.
            tokio::task::yield_now().await;
            drop(held);
        };
        let owner = hash(Applicant::known(from(1)));
        let (hashed, owner, ()) = tokio::join!(join_all(many), owner, release);
        let refused = |hash: &&Result<_, _>| matches!(hash, Err(HashError::Busy));
        assert_eq!(hashed.iter().filter(refused).count(), 30);
        assert_eq!(hashed.iter().filter(|hash| hash.is_ok()).count(), PLACES);
        assert!(owner.is_ok(), "whoever is known has a place of their own");
        assert!(hash(Applicant::stranger(from(1))).await.is_ok());
    }
}
