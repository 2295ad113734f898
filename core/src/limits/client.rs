//! Who a request came from.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::limiter::Key;

/// The address of the client. `api/middleware/edge` puts it on every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// Only a request that came over no connection has no peer.
    pub const UNKNOWN: Self = Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED));

    /// What tells one subscriber from another: an IPv4 address, or the /64 of an IPv6 address.
    pub fn subscriber(self) -> IpAddr {
        self.network().0
    }

    /// What limits count by.
    pub fn network(self) -> Network {
        Network(masked(self.0, 32, 64))
    }
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<IpAddr> for ClientAddress {
    fn from(address: IpAddr) -> Self {
        Self(address.to_canonical())
    }
}

/// Who wants a password to be hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applicant {
    pub network: Network,
    /// Has shown something before: a session, a link, or lately the right password at this address, or chosen it there.
    pub is_known: bool,
}

impl Applicant {
    pub fn known(client: ClientAddress) -> Self {
        Self {
            network: client.network(),
            is_known: true,
        }
    }

    pub fn stranger(client: ClientAddress) -> Self {
        Self {
            network: client.network(),
            is_known: false,
        }
    }
}

/// An IPv4 address, or the /64 of an IPv6 address: one subscriber has at least a whole /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl Key for Network {
    type Group = IpAddr;

    /// What a provider usually gets: a /16 of IPv4, a /32 of IPv6.
    fn group(&self) -> IpAddr {
        masked(self.0, 16, 32)
    }
}

/// The first bits of an address; an IPv4 address in the form of IPv6 counts as IPv4.
fn masked(address: IpAddr, v4_bits: u32, v6_bits: u32) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - v4_bits).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - v6_bits).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_count_by_64_bits_of_ipv6_and_by_all_of_ipv4() {
        let network = |text: &str| ClientAddress::from(text.parse::<IpAddr>().unwrap()).network();
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:ffff"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("192.0.2.1"), network("::ffff:192.0.2.1"));
        let group = |text: &str| network(text).group();
        assert_eq!(group("2001:db8:1::1"), group("2001:db8:2::1"));
        assert_ne!(group("2001:db8::1"), group("2001:db9::1"));
        assert_eq!(group("192.0.2.1"), group("192.0.77.1"));
    }
}
