//! Requests a minute for each account, by tier, and for each worker and admin key: GCRA with the whole minute as
//! burst. On PostgreSQL, all servers share them. What people ask for on the pages counts apart from what keys ask for, so
//! that a program which uses up its quota does not lock its owner out.

use std::io::Write;
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
use crate::domain::admin::ADMIN_REQUESTS_PER_MINUTE;
use crate::domain::workers::WORKER_REQUESTS_PER_MINUTE;
use crate::domain::{AccountId, AdminKeyId, Tier, WorkerId};
use crate::store::{KeyHolder, Store};

const WINDOW_SECONDS: u64 = RATE_WINDOW.as_secs();

type Limiter =
    RateLimiter<AccountId, DashMapStateStore<AccountId>, DefaultClock, StateInformationMiddleware>;

/// Limits are kept by id, and workers and admin keys have ids of the same kind.
pub struct RateLimits {
    by_tier: Vec<(Tier, Limiter)>,
    /// What limited keys may use of it.
    limited: Vec<(Tier, Limiter)>,
    pages: Vec<(Tier, Limiter)>,
    workers: Limiter,
    admins: Limiter,
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
        let by_tier = |quota: fn(Tier) -> u32| -> Vec<(Tier, Limiter)> {
            let tiers = Tier::ALL.iter();
            tiers.map(|tier| (*tier, limiter(quota(*tier)))).collect()
        };
        Self {
            by_tier: by_tier(Tier::requests_per_minute),
            limited: by_tier(Tier::requests_of_limited_keys),
            pages: by_tier(Tier::requests_per_minute),
            workers: limiter(WORKER_REQUESTS_PER_MINUTE),
            admins: limiter(ADMIN_REQUESTS_PER_MINUTE),
            clock: DefaultClock::default(),
            shared: None,
        }
    }

    /// Counts a request with a key, which may be worth several: all of it passes, or none. The error says how long
    /// to wait.
    pub async fn count_key(&self, holder: &KeyHolder, requests: NonZeroU32) -> Counted {
        let (account, tier) = (holder.owner.account, holder.tier);
        match holder.limits {
            None => self.count_all(account, tier, requests).await,
            Some(_) => self.count_limited(account, tier, requests).await,
        }
    }

    async fn count_all(&self, account: AccountId, tier: Tier, requests: NonZeroU32) -> Counted {
        let quota = tier.requests_per_minute();
        let limiters = &self.by_tier;
        self.count_of(limiters, tier, (account, quota), requests)
            .await
    }

    /// Limited keys leave some of the account's quota, so that whoever may pause them is heard.
    async fn count_limited(&self, account: AccountId, tier: Tier, requests: NonZeroU32) -> Counted {
        let (limited, counted) = self.count_of_limited(account, tier, requests).await;
        if counted.is_err() {
            return (limited, counted);
        }
        let (all, counted) = self.count_all(account, tier, requests).await;
        if counted.is_err() {
            return (all, counted);
        }
        let remaining = limited.remaining.min(all.remaining);
        let status = RateLimitStatus {
            remaining,
            ..limited
        };
        (status, counted)
    }

    /// Counts a request with a limited key that may do nothing at present.
    pub async fn count_stopped(&self, holder: &KeyHolder) -> Counted {
        let (account, tier) = (holder.owner.account, holder.tier);
        self.count_of_limited(account, tier, NonZeroU32::MIN).await
    }

    async fn count_of_limited(
        &self,
        account: AccountId,
        tier: Tier,
        requests: NonZeroU32,
    ) -> Counted {
        let (id, quota) = (account.of_limited_keys(), tier.requests_of_limited_keys());
        self.count_of(&self.limited, tier, (id, quota), requests)
            .await
    }

    /// Counts a page that somebody of the account asks for.
    pub async fn count_page(&self, account: AccountId, tier: Tier) -> Counted {
        let (id, quota) = (account.of_pages(), tier.requests_per_minute());
        self.count_of(&self.pages, tier, (id, quota), NonZeroU32::MIN)
            .await
    }

    async fn count_of(
        &self,
        limiters: &[(Tier, Limiter)],
        tier: Tier,
        (id, quota): (AccountId, u32),
        requests: NonZeroU32,
    ) -> Counted {
        let counted = match limiters.iter().find(|(of, _)| *of == tier) {
            Some((_, limiter)) => self.count_in(limiter, id, quota, requests),
            None => (RateLimitStatus::full(quota), Ok(())),
        };
        self.count_shared(id, counted, requests).await
    }

    /// Counts a request of a worker.
    pub async fn count_worker(&self, worker: WorkerId) -> Counted {
        let id = AccountId::of_worker(worker);
        self.count_one(&self.workers, id, WORKER_REQUESTS_PER_MINUTE)
            .await
    }

    /// Counts a request with an admin key, or with a session that was opened with it.
    pub async fn count_admin(&self, admin: AdminKeyId) -> Counted {
        let id = AccountId::of_admin(admin);
        self.count_one(&self.admins, id, ADMIN_REQUESTS_PER_MINUTE)
            .await
    }

    async fn count_one(&self, limiter: &Limiter, id: AccountId, quota: u32) -> Counted {
        let counted = self.count_in(limiter, id, quota, NonZeroU32::MIN);
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
        let of_accounts = [&self.by_tier, &self.limited, &self.pages];
        for (_, limiter) in of_accounts.into_iter().flatten() {
            limiter.retain_recent();
        }
        self.workers.retain_recent();
        self.admins.retain_recent();
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
        let policy = parameters([("q", quota.into()), ("w", WINDOW_SECONDS)]);
        let status = parameters([("r", remaining.into()), ("t", full_again)]);
        for (name, value) in [(POLICY, policy), (STATUS, status)] {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
    }
}

/// What two parameters take at most.
const LONGEST: usize = 64;

/// `"default";q=600;w=60`. Every answer has two of these, and `format!` takes three times as long.
fn parameters(numbers: [(&str, u64); 2]) -> Option<HeaderValue> {
    let mut text = [0; LONGEST];
    let mut free = &mut text[..];
    free.write_all(b"\"default\"").ok()?;
    for (name, number) in numbers {
        for part in [";", name, "=", itoa::Buffer::new().format(number)] {
            free.write_all(part.as_bytes()).ok()?;
        }
    }
    let written = LONGEST - free.len();
    HeaderValue::from_bytes(&text[..written]).ok()
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
            refused += usize::from(
                limits
                    .count_all(account(1), Tier::Free, NonZeroU32::MIN)
                    .await
                    .1
                    .is_err(),
            );
        }
        assert!((90..=100).contains(&refused), "{refused}");
        assert!(
            limits
                .count_all(account(2), Tier::Free, NonZeroU32::MIN)
                .await
                .1
                .is_ok()
        );
    }

    #[tokio::test]
    async fn a_request_that_is_worth_several_passes_as_a_whole_or_not_at_all() {
        let limits = RateLimits::of_one_process();
        let account = AccountId::new(Timestamp::from_millis(0), &[1; 10]);
        let count = async |requests: u32| {
            let requests = NonZeroU32::new(requests).unwrap();
            limits.count_all(account, Tier::Free, requests).await
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

    #[tokio::test]
    async fn each_admin_key_and_each_worker_has_a_quota_of_its_own() {
        let limits = RateLimits::of_one_process();
        let now = Timestamp::from_millis(0);
        let admin = |n: u8| AdminKeyId::new(now, &[n; 10]);
        let worker = WorkerId::new(now, &[1; 10]);
        // What is refilled meanwhile is not a second quota.
        let mut passed = 0;
        while limits.count_admin(admin(1)).await.1.is_ok() {
            passed += 1;
            assert!(passed < 2 * ADMIN_REQUESTS_PER_MINUTE);
        }
        assert!(passed >= ADMIN_REQUESTS_PER_MINUTE);
        let (status, counted) = limits.count_admin(admin(2)).await;
        assert!(counted.is_ok());
        assert_eq!(status.remaining, ADMIN_REQUESTS_PER_MINUTE - 1);
        let (status, counted) = limits.count_worker(worker).await;
        assert!(counted.is_ok());
        assert_eq!(status.remaining, WORKER_REQUESTS_PER_MINUTE - 1);
    }

    #[tokio::test]
    async fn limited_keys_leave_some_of_the_quota_and_pages_have_their_own() {
        let limits = RateLimits::of_one_process();
        let account = AccountId::new(Timestamp::from_millis(0), &[1; 10]);
        let (tier, many) = (Tier::Free, NonZeroU32::new(100).unwrap());
        let (status, _) = limits.count_limited(account, tier, many).await;
        assert_eq!(status.quota, 450);
        let mut passed = 1;
        while limits.count_limited(account, tier, many).await.1.is_ok() {
            passed += 1;
        }
        assert_eq!(passed, 4);
        let (status, counted) = limits.count_all(account, tier, many).await;
        assert!(counted.is_ok() && status.remaining >= 100);
        // Whoever has no limits uses up the rest, also of what limited keys would have had.
        while limits.count_all(account, tier, many).await.1.is_ok() {}
        let (status, _) = limits.count_limited(account, tier, NonZeroU32::MIN).await;
        assert!(status.remaining < 100);
        assert_eq!(limits.count_page(account, tier).await.0.remaining, 599);
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
