//! Idempotency-Keys whose first request is still running.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api::error::ApiError;
use crate::store::IdempotencyScope;

/// Keys whose first request is running in this process. Between processes the database decides: the
/// second waits for the first and replays its response.
#[derive(Default)]
pub struct InFlight(Mutex<HashSet<IdempotencyScope>>);

impl InFlight {
    pub fn claim(&self, scope: &IdempotencyScope) -> Result<Claim<'_>, ApiError> {
        if !self.lock().insert(scope.clone()) {
            return Err(ApiError::IdempotencyInFlight);
        }
        Ok(Claim {
            in_flight: self,
            scope: scope.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<IdempotencyScope>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Claim<'a> {
    in_flight: &'a InFlight,
    scope: IdempotencyScope,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.in_flight.lock().remove(&self.scope);
    }
}
