//! Limits for sign-in and sign-up attempts: by account, so that one password cannot be guessed
//! from many addresses, and by address, so that many cannot be tried from one.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::api::error::ApiError;
use crate::api::server::Peer;

type Limiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock>;

const WINDOW: Duration = Duration::from_secs(15 * 60);
const FOR_AN_ACCOUNT: u32 = 10;
const FOR_AN_ADDRESS: u32 = 100;

pub struct SignInLimits {
    by_account: Limiter<String>,
    by_address: Limiter<IpAddr>,
}

impl Default for SignInLimits {
    fn default() -> Self {
        Self {
            by_account: RateLimiter::dashmap(quota(FOR_AN_ACCOUNT)),
            by_address: RateLimiter::dashmap(quota(FOR_AN_ADDRESS)),
        }
    }
}

/// So many in a window, all of which may come at once.
fn quota(attempts: u32) -> Quota {
    let attempts = NonZeroU32::new(attempts).unwrap_or(NonZeroU32::MIN);
    let quota = Quota::with_period(WINDOW / attempts.get());
    quota
        .unwrap_or(Quota::per_second(NonZeroU32::MIN))
        .allow_burst(attempts)
}

impl SignInLimits {
    /// Counts an attempt; what is counted does not depend on whether there is such an account.
    pub fn count(&self, account: &str, address: IpAddr) -> Result<(), ApiError> {
        refuse(self.by_address.check_key(&address))?;
        refuse(self.by_account.check_key(&account.to_owned()))
    }

    pub fn forget_idle(&self) {
        self.by_account.retain_recent();
        self.by_address.retain_recent();
    }
}

fn refuse(
    checked: Result<(), governor::NotUntil<<DefaultClock as governor::clock::Clock>::Instant>>,
) -> Result<(), ApiError> {
    checked.map_err(|until| ApiError::RateLimited {
        retry_after_seconds: until
            .wait_time_from(DefaultClock::default().now())
            .as_secs()
            + 1,
    })
}

/// The address that a request came from: the peer's, or, when the peer is a proxy on this machine,
/// the last one that the proxy saw.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub IpAddr);

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let peer = parts.extensions.get::<Peer>();
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0.ip());
        let forwarded_for = peer.is_loopback().then(|| forwarded(&parts.headers));
        Ok(Self(forwarded_for.flatten().unwrap_or(peer)))
    }
}

fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let value = headers.get_all("x-forwarded-for").iter().next_back()?;
    value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn one_account_is_limited_from_all_addresses_together() {
        let limits = SignInLimits::default();
        for attempt in 0..FOR_AN_ACCOUNT {
            let address = if attempt % 2 == 0 { HERE } else { THERE };
            assert!(limits.count("grace", address).is_ok());
        }
        assert!(limits.count("grace", HERE).is_err());
        assert!(limits.count("ada", HERE).is_ok());
    }

    #[test]
    fn one_address_is_limited_for_all_accounts_together() {
        let limits = SignInLimits::default();
        for attempt in 0..FOR_AN_ADDRESS {
            assert!(limits.count(&attempt.to_string(), HERE).is_ok());
        }
        assert!(limits.count("one more", HERE).is_err());
        assert!(limits.count("one more", THERE).is_ok());
    }
}
