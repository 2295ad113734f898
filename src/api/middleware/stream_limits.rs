//! How many event streams an account has open in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::gauge;

use crate::api::error::ApiError;
use crate::domain::AccountId;

const MAX_STREAMS: usize = 20;

#[derive(Clone, Default)]
pub struct StreamLimits(Arc<Mutex<HashMap<AccountId, usize>>>);

impl StreamLimits {
    pub fn acquire(&self, account: AccountId) -> Result<StreamPermit, ApiError> {
        let mut open = self.lock();
        let count = open.entry(account).or_default();
        if *count >= MAX_STREAMS {
            return Err(ApiError::RateLimited {
                retry_after_seconds: 5,
            });
        }
        *count += 1;
        gauge!("legwork_streams_open").increment(1);
        Ok(StreamPermit {
            limits: self.clone(),
            account,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AccountId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by an open stream; dropping it frees its place.
pub struct StreamPermit {
    limits: StreamLimits,
    account: AccountId,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        gauge!("legwork_streams_open").decrement(1);
        let mut open = self.limits.lock();
        if let Some(count) = open.get_mut(&self.account) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.account);
            }
        }
    }
}
