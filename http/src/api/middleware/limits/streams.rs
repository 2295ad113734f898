//! How many event streams an account has open in this process.

use metrics::gauge;

use crate::api::error::ApiError;
use crate::domain::AccountId;
use crate::limits::{Place, Places};

const MAX_STREAMS: usize = 20;

#[derive(Clone, Default)]
pub struct StreamLimits(Places<AccountId>);

impl StreamLimits {
    pub fn acquire(&self, account: AccountId) -> Result<StreamPermit, ApiError> {
        let place = self.0.take(account, MAX_STREAMS);
        let place = place.ok_or(ApiError::RateLimited {
            retry_after_seconds: 5,
        })?;
        gauge!("legwork_streams_open").increment(1);
        Ok(StreamPermit { _place: place })
    }
}

/// Held by an open stream; dropping it frees its place.
pub struct StreamPermit {
    _place: Place<AccountId>,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        gauge!("legwork_streams_open").decrement(1);
    }
}
