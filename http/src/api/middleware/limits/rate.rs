//! Requests a minute for each account, by tier, and for each worker: GCRA with the whole minute as
//! burst. On PostgreSQL, all servers share them.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use governor::clock::{Clock as _, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::api::error::ApiError;
use crate::api::middleware::limits::shared::SharedLimits;
use crate::domain::accounts::rate_limit::RATE_WINDOW;
use crate::domain::workers::WORKER_REQUESTS_PER_MINUTE;
use crate::domain::{AccountId, Tier, WorkerId};
use crate::store::Store;

const WINDOW_SECONDS: u64 = RATE_WINDOW.as_secs();

type Limiter =
    RateLimiter<AccountId, DashMapStateStore<AccountId>, DefaultClock, StateInformationMiddleware>;

/// Limits are kept by id, and workers have ids of the same kind.
pub struct RateLimits {
    by_tier: Vec<(Tier, Limiter)>,
    workers: Limiter,
    clock: DefaultClock,
    /// Where other servers may be on the same database. This server's own limits hold as well, and
    /// are all that is left when the database does not answer.
    shared: Option<Arc<SharedLimits>>,
}

/// Where a caller stands, and whether the request passes.
pub type Counted = (RateLimitStatus, Result<(), ApiError>);

/// The state of an account's limit after a request.
#[derive(Clone, Copy, Debug)]
pub struct RateLimitStatus {
    quota: u32,
    remaining: u32,
}

impl RateLimits {
    pub fn new(store: &Store) -> Self {
        let shared = store.is_shared().then(|| SharedLimits::new(store.clone()));
        Self {
            shared,
            ..Self::of_one_process()
        }
    }

    fn of_one_process() -> Self {
        let limiter = |quota: u32| -> Limiter {
            let quota = NonZeroU32::new(quota).unwrap_or(NonZeroU32::MIN);
            let limiter = RateLimiter::dashmap(Quota::per_minute(quota));
            limiter.with_middleware::<StateInformationMiddleware>()
        };
        let of_tier = |tier: &Tier| (*tier, limiter(tier.requests_per_minute()));
        Self {
            by_tier: Tier::ALL.iter().map(of_tier).collect(),
            workers: limiter(WORKER_REQUESTS_PER_MINUTE),
            clock: DefaultClock::default(),
            shared: None,
        }
    }

    /// Counts a request. The error says how long to wait.
    pub async fn count(&self, account: AccountId, tier: Tier) -> Counted {
        self.count_many(account, tier, NonZeroU32::MIN).await
    }

    /// Counts a request that is worth several. All of it passes, or none.
    pub async fn count_many(
        &self,
        account: AccountId,
        tier: Tier,
        requests: NonZeroU32,
    ) -> Counted {
        let quota = tier.requests_per_minute();
        let limiter = self.by_tier.iter().find(|(of, _)| *of == tier);
        let counted = match limiter {
            Some((_, limiter)) => self.count_in(limiter, account, quota, requests),
            None => (RateLimitStatus::full(quota), Ok(())),
        };
        self.count_shared(account, counted, requests).await
    }

    /// Counts a request of a worker.
    pub async fn count_worker(&self, worker: WorkerId) -> Counted {
        let (id, quota) = (AccountId::of_worker(worker), WORKER_REQUESTS_PER_MINUTE);
        let counted = self.count_in(&self.workers, id, quota, NonZeroU32::MIN);
        self.count_shared(id, counted, NonZeroU32::MIN).await
    }

    /// What this server lets through, all servers together must have room for.
    async fn count_shared(
        &self,
        id: AccountId,
        (status, counted): Counted,
        requests: NonZeroU32,
    ) -> Counted {
        let Some(shared) = self.shared.as_ref().filter(|_| counted.is_ok()) else {
            return (status, counted);
        };
        let counted = shared.count(id, status.quota, requests.get()).await;
        let remaining = status.remaining.min(counted.remaining);
        let refused = |wait: Duration| ApiError::RateLimited {
            retry_after_seconds: wait.as_secs() + 1,
        };
        let status = RateLimitStatus {
            remaining,
            ..status
        };
        (status, counted.result.map_err(refused))
    }

    fn count_in(
        &self,
        limiter: &Limiter,
        id: AccountId,
        quota: u32,
        requests: NonZeroU32,
    ) -> Counted {
        let wait = match limiter.check_key_n(&id, requests) {
            Ok(Ok(state)) => {
                let remaining = state.remaining_burst_capacity();
                return (RateLimitStatus { quota, remaining }, Ok(()));
            }
            Ok(Err(until)) => until.wait_time_from(self.clock.now()),
            // More than the whole quota, which no tier is as small for.
            Err(_) => RATE_WINDOW,
        };
        let refused = ApiError::RateLimited {
            retry_after_seconds: wait.as_secs() + 1,
        };
        let remaining = 0;
        (RateLimitStatus { quota, remaining }, Err(refused))
    }

    /// Drops callers that have their whole quota back.
    pub fn forget_idle(&self) {
        for (_, limiter) in &self.by_tier {
            limiter.retain_recent();
        }
        self.workers.retain_recent();
        if let Some(shared) = &self.shared {
            shared.forget_idle();
        }
    }
}

impl RateLimitStatus {
    fn full(quota: u32) -> Self {
        Self {
            quota,
            remaining: quota,
        }
    }

    /// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers.
    pub fn write(self, headers: &mut HeaderMap) {
        let Self { quota, remaining } = self;
        let used = u64::from(quota - remaining.min(quota));
        let full_again = (used * WINDOW_SECONDS).div_ceil(u64::from(quota));
        let policy = format!("\"default\";q={quota};w={WINDOW_SECONDS}");
        let status = format!("\"default\";r={remaining};t={full_again}");
        for (name, value) in [(POLICY, policy), (STATUS, status)] {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
    }
}

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATUS: HeaderName = HeaderName::from_static("ratelimit");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[tokio::test]
    async fn a_minutes_worth_may_come_at_once_and_then_it_is_enough() {
        let limits = RateLimits::of_one_process();
        let account = |n: u8| AccountId::new(Timestamp::from_millis(0), &[n; 10]);
        let mut refused = 0;
        for _ in 0..700 {
            refused += usize::from(limits.count(account(1), Tier::Free).await.1.is_err());
        }
        assert!((90..=100).contains(&refused), "{refused}");
        assert!(limits.count(account(2), Tier::Free).await.1.is_ok());
    }

    #[tokio::test]
    async fn a_request_that_is_worth_several_passes_as_a_whole_or_not_at_all() {
        let limits = RateLimits::of_one_process();
        let account = AccountId::new(Timestamp::from_millis(0), &[1; 10]);
        let count = async |requests: u32| {
            let requests = NonZeroU32::new(requests).unwrap();
            limits.count_many(account, Tier::Free, requests).await
        };
        let (status, counted) = count(500).await;
        assert!(counted.is_ok() && status.remaining <= 101);
        let (
            _,
            Err(ApiError::RateLimited {
                retry_after_seconds,
            }),
        ) = count(600).await
        else {
            panic!("more than is left");
        };
        assert!(retry_after_seconds >= 45, "{retry_after_seconds}");
        // The one that was refused took nothing.
        assert!(count(100).await.1.is_ok());
    }

    #[test]
    fn the_headers_tell_the_policy_and_what_is_left() {
        let mut headers = HeaderMap::new();
        RateLimitStatus {
            quota: 600,
            remaining: 595,
        }
        .write(&mut headers);
        assert_eq!(headers["ratelimit-policy"], "\"default\";q=600;w=60");
        assert_eq!(headers["ratelimit"], "\"default\";r=595;t=1");
    }
}
