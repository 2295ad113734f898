//! How many connections may be open: in all, and from one address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;
use metrics::{Gauge, counter, gauge};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// One address may hold this part of all connections.
const SHARE_OF_AN_ADDRESS: usize = 4;
/// So many refusals may be on their way at once. Beyond them, connections are closed without a
/// word: telling must not cost more than serving.
const MAX_REFUSALS: usize = 64;

/// Cheap to clone. Listeners that share it share the limit.
#[derive(Clone)]
pub struct ConnectionLimits(Arc<Shared>);

struct Shared {
    max: usize,
    max_from_one: usize,
    /// Proxies, each of which stands for many clients.
    trusted: Vec<IpNet>,
    open: Mutex<Open>,
    refusals: Arc<Semaphore>,
}

#[derive(Default)]
struct Open {
    all: usize,
    by_source: HashMap<IpAddr, usize>,
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Full,
    FullForAddress,
}

impl ConnectionLimits {
    /// Connections from trusted networks count in the total alone.
    pub fn new(max: usize, trusted: Vec<IpNet>) -> Self {
        Self(Arc::new(Shared {
            max,
            max_from_one: (max / SHARE_OF_AN_ADDRESS).max(1),
            trusted,
            open: Mutex::default(),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
        }))
    }

    /// Takes a place for a connection. Dropping the permit frees it.
    pub fn admit(&self, address: IpAddr, tls: bool) -> Result<ConnectionPermit, Refused> {
        let admitted = self.count(address.to_canonical());
        if let Err(refused) = admitted {
            let reason = match refused {
                Refused::Full => "total",
                Refused::FullForAddress => "address",
            };
            counter!("legwork_connections_refused_total", "reason" => reason).increment(1);
        }
        let source = admitted?;
        let transport = if tls { "tls" } else { "plain" };
        let gauge = gauge!("legwork_connections_open", "transport" => transport);
        gauge.increment(1);
        Ok(ConnectionPermit {
            limits: self.clone(),
            source,
            gauge,
        })
    }

    fn count(&self, address: IpAddr) -> Result<IpAddr, Refused> {
        let trusted = self.0.trusted.iter().any(|net| net.contains(&address));
        let source = source(address);
        let mut open = self.lock();
        let from_here = open.by_source.get(&source).copied().unwrap_or(0);
        if open.all >= self.0.max {
            return Err(Refused::Full);
        }
        if !trusted && from_here >= self.0.max_from_one {
            return Err(Refused::FullForAddress);
        }
        open.all += 1;
        open.by_source.insert(source, from_here + 1);
        Ok(source)
    }

    /// A place to tell somebody that they are refused, if there is one.
    pub fn refusal(&self) -> Option<OwnedSemaphorePermit> {
        self.0.refusals.clone().try_acquire_owned().ok()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whom a connection counts for. Whoever has an IPv6 address mostly has all of its /64.
fn source(address: IpAddr) -> IpAddr {
    const NETWORK: u128 = !(u64::MAX as u128);
    match address {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
        address => address,
    }
}

/// Held by an open connection.
pub struct ConnectionPermit {
    limits: ConnectionLimits,
    source: IpAddr,
    gauge: Gauge,
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.gauge.decrement(1);
        let mut open = self.limits.lock();
        open.all -= 1;
        if let Some(count) = open.by_source.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                open.by_source.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> ConnectionLimits {
        let trusted = ["192.0.2.0/24", "2001:db8::7/128"];
        ConnectionLimits::new(16, trusted.map(|net| net.parse().unwrap()).to_vec())
    }

    /// How many connections from these addresses are admitted, one after the other.
    fn admitted(limits: &ConnectionLimits, addresses: &[&str]) -> (usize, Option<Refused>) {
        let mut permits = Vec::new();
        for address in addresses.iter().cycle().take(100) {
            match limits.admit(address.parse().unwrap(), false) {
                Ok(permit) => permits.push(permit),
                Err(refused) => return (permits.len(), Some(refused)),
            }
        }
        (permits.len(), None)
    }

    #[test]
    fn one_address_holds_a_quarter_of_all() {
        let limits = limits();
        let refused = Some(Refused::FullForAddress);
        assert_eq!(admitted(&limits, &["198.51.100.1"]), (4, refused));
        assert_eq!(admitted(&limits, &["198.51.100.2"]), (4, refused));
        assert!(limits.lock().by_source.is_empty(), "nothing is left behind");
    }

    #[test]
    fn all_together_hold_no_more_than_all() {
        let addresses: Vec<_> = (1..=20).map(|n| format!("198.51.100.{n}")).collect();
        let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
        let refused = Some(Refused::Full);
        assert_eq!(admitted(&limits(), &addresses), (16, refused));
    }

    #[test]
    fn a_trusted_proxy_may_hold_all() {
        let refused = Some(Refused::Full);
        for proxy in ["192.0.2.7", "::ffff:192.0.2.7", "2001:db8::7"] {
            assert_eq!(admitted(&limits(), &[proxy]), (16, refused), "{proxy}");
        }
    }

    #[test]
    fn an_ipv6_client_counts_by_its_network() {
        let refused = Some(Refused::FullForAddress);
        let same = ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:0:1::"];
        assert_eq!(admitted(&limits(), &same), (4, refused));
        let two = ["2001:db8::1", "2001:db8:0:1::1"];
        assert_eq!(admitted(&limits(), &two), (8, refused));
        let mapped = ["198.51.100.1", "::ffff:198.51.100.1"];
        assert_eq!(admitted(&limits(), &mapped), (4, refused));
    }

    #[test]
    fn a_load_test_on_this_machine_has_room_at_the_default() {
        let limits = ConnectionLimits::new(10_000, Vec::new());
        let here = "127.0.0.1".parse().unwrap();
        let permits: Vec<_> = (0..1_000).map(|_| limits.admit(here, false)).collect();
        assert!(permits.iter().all(Result::is_ok));
    }

    #[test]
    fn refusals_are_bounded_too() {
        let limits = limits();
        let told: Vec<_> = (0..MAX_REFUSALS).map(|_| limits.refusal()).collect();
        assert!(told.iter().all(Option::is_some));
        assert!(limits.refusal().is_none());
        drop(told);
        assert!(limits.refusal().is_some());
    }
}
