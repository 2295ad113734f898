//! How many stored files are being sent at once. Each is an open file and a buffer, and whoever has one
//! signed URL can ask for it many times without taking the answer.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api::error::ApiError;
use crate::limits::{ClientAddress, Network, Place, Places};

/// In all.
const MAX_FILES: usize = 512;
/// To one network. A page of proofs shows fewer.
const MAX_FILES_TO_ONE: usize = 64;

#[derive(Clone)]
pub struct FileLimits {
    all: Arc<Semaphore>,
    by_network: Places<Network>,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_FILES)),
            by_network: Places::default(),
        }
    }
}

impl FileLimits {
    pub fn acquire(&self, client: ClientAddress) -> Result<FilePermit, ApiError> {
        let place = self.by_network.take(client.network(), MAX_FILES_TO_ONE);
        let place = place.ok_or(ApiError::RateLimited {
            retry_after_seconds: 5,
        })?;
        let permit = self.all.clone().try_acquire_owned();
        Ok(FilePermit {
            _place: place,
            _permit: permit.map_err(|_| ApiError::Busy)?,
        })
    }
}

/// Held while a file is being sent.
pub struct FilePermit {
    _place: Place<Network>,
    _permit: OwnedSemaphorePermit,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn client(n: u8) -> ClientAddress {
        IpAddr::from([192, 0, 2, n]).into()
    }

    #[test]
    fn one_network_cannot_take_all() {
        let limits = FileLimits::default();
        let held: Vec<_> = (0..MAX_FILES_TO_ONE)
            .map(|_| limits.acquire(client(1)).unwrap())
            .collect();
        assert!(limits.acquire(client(1)).is_err());
        assert!(limits.acquire(client(2)).is_ok());
        drop(held);
        assert!(limits.acquire(client(1)).is_ok());
    }

    #[test]
    fn all_together_hold_no_more_than_all() {
        let limits = FileLimits::default();
        let networks = (MAX_FILES / MAX_FILES_TO_ONE) as u8;
        let held: Vec<_> = (0..networks)
            .flat_map(|n| std::iter::repeat_n(n, MAX_FILES_TO_ONE))
            .map(|n| limits.acquire(client(n)).unwrap())
            .collect();
        assert!(matches!(limits.acquire(client(200)), Err(ApiError::Busy)));
        drop(held);
        assert!(limits.acquire(client(200)).is_ok());
    }
}
