//! Which addresses a user's URL may lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// IANA's special-purpose, multicast and reserved networks, and one address that no registry lists.
const NOT_PUBLIC_V4: [Ipv4Net; 16] = [
    v4([0, 0, 0, 0], 8),        // this network
    v4([10, 0, 0, 0], 8),       // private
    v4([100, 64, 0, 0], 10),    // carrier-grade NAT
    v4([127, 0, 0, 0], 8),      // loopback
    v4([169, 254, 0, 0], 16),   // link-local, metadata service of most clouds
    v4([172, 16, 0, 0], 12),    // private
    v4([192, 0, 0, 0], 24),     // protocol assignments
    v4([192, 0, 2, 0], 24),     // documentation
    v4([192, 88, 99, 0], 24),   // 6to4 relays
    v4([192, 168, 0, 0], 16),   // private
    v4([198, 18, 0, 0], 15),    // benchmarking
    v4([198, 51, 100, 0], 24),  // documentation
    v4([203, 0, 113, 0], 24),   // documentation
    v4([224, 0, 0, 0], 4),      // multicast
    v4([240, 0, 0, 0], 4),      // reserved, and broadcast
    v4([168, 63, 129, 16], 32), // Azure's internal services
];

/// Global unicast. Loopback, link-local, private, multicast, NAT64 and IPv4-mapped addresses are
/// outside of it.
const UNICAST_V6: Ipv6Net = v6([0x2000, 0], 3);

const NOT_PUBLIC_V6: [Ipv6Net; 4] = [
    v6([0x2001, 0], 23),     // protocol assignments, including Teredo
    v6([0x2001, 0xdb8], 32), // documentation
    v6([0x2002, 0], 16),     // 6to4: contains an IPv4 address that a relay unpacks
    v6([0x3fff, 0], 20),     // documentation
];

const fn v4(address: [u8; 4], length: u8) -> Ipv4Net {
    let [a, b, c, d] = address;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6([a, b]: [u16; 2], length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), length)
}

/// Whether an address may be called: it is public, or the operator allowed its network.
pub fn may_be_called(address: IpAddr, allowed: &[IpNet]) -> bool {
    // `::ffff:10.0.0.1` reaches 10.0.0.1.
    let meant = address.to_canonical();
    let by_operator = |net: &IpNet| net.contains(&meant) || net.contains(&address);
    is_public(meant) || allowed.iter().any(by_operator)
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) => {
            UNICAST_V6.contains(&address) && !NOT_PUBLIC_V6.iter().any(|net| net.contains(&address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn judged(address: &str) -> bool {
        may_be_called(address.parse().unwrap(), &[])
    }

    /// The first and last refused address of each range, and the public addresses next to it.
    const STRETCHES: &[(&str, &str, &[&str])] = &[
        ("0.0.0.0", "0.255.255.255", &["1.0.0.0"]),
        ("10.0.0.0", "10.255.255.255", &["9.255.255.255", "11.0.0.0"]),
        (
            "100.64.0.0",
            "100.127.255.255",
            &["100.63.255.255", "100.128.0.0"],
        ),
        (
            "127.0.0.0",
            "127.255.255.255",
            &["126.255.255.255", "128.0.0.0"],
        ),
        (
            "168.63.129.16",
            "168.63.129.16",
            &["168.63.129.15", "168.63.129.17"],
        ),
        (
            "169.254.0.0",
            "169.254.255.255",
            &["169.253.255.255", "169.255.0.0"],
        ),
        (
            "172.16.0.0",
            "172.31.255.255",
            &["172.15.255.255", "172.32.0.0"],
        ),
        (
            "192.0.0.0",
            "192.0.0.255",
            &["191.255.255.255", "192.0.1.0"],
        ),
        ("192.0.2.0", "192.0.2.255", &["192.0.1.255", "192.0.3.0"]),
        (
            "192.88.99.0",
            "192.88.99.255",
            &["192.88.98.255", "192.88.100.0"],
        ),
        (
            "192.168.0.0",
            "192.168.255.255",
            &["192.167.255.255", "192.169.0.0"],
        ),
        (
            "198.18.0.0",
            "198.19.255.255",
            &["198.17.255.255", "198.20.0.0"],
        ),
        (
            "198.51.100.0",
            "198.51.100.255",
            &["198.51.99.255", "198.51.101.0"],
        ),
        (
            "203.0.113.0",
            "203.0.113.255",
            &["203.0.112.255", "203.0.114.0"],
        ),
        ("224.0.0.0", "239.255.255.255", &["223.255.255.255"]),
        ("240.0.0.0", "255.255.255.255", &[]),
        ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
        (
            "2001::",
            "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
            &["2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
        ),
        (
            "2001:db8::",
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            &["2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"],
        ),
        (
            "2002::",
            "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            &["2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"],
        ),
        (
            "3fff::",
            "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
            &[
                "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "3fff:1000::",
                "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            ],
        ),
        ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", &[]),
    ];

    #[test]
    fn refused_stretches_end_where_they_should() {
        for (first, last, neighbours) in STRETCHES {
            assert!(!judged(first), "{first}");
            assert!(!judged(last), "{last}");
            for neighbour in *neighbours {
                assert!(judged(neighbour), "{neighbour}");
            }
        }
    }

    #[test]
    fn forms_that_lead_elsewhere_are_refused() {
        for address in [
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::8.8.8.8",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::10.0.0.1",
            "100::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2002:7f00:1::",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
        ] {
            assert!(!judged(address), "{address}");
        }
        assert!(judged("::ffff:8.8.8.8"));
    }

    #[test]
    fn the_operator_may_allow_what_is_not_public() {
        let allowed = ["10.1.0.0/16", "::1/128", "64:ff9b::/96"].map(|net| net.parse().unwrap());
        let judged = |address: &str| may_be_called(address.parse().unwrap(), &allowed);
        for address in [
            "10.1.0.0",
            "10.1.255.255",
            "::ffff:10.1.2.3",
            "::1",
            "64:ff9b::1",
        ] {
            assert!(judged(address), "{address}");
        }
        for address in [
            "10.0.255.255",
            "10.2.0.0",
            "::ffff:10.2.0.0",
            "::2",
            "127.0.0.1",
        ] {
            assert!(!judged(address), "{address}");
        }
        let mapped = ["::ffff:10.1.0.0/112".parse().unwrap()];
        assert!(may_be_called("::ffff:10.1.2.3".parse().unwrap(), &mapped));
    }

    proptest! {
        #[test]
        fn an_ipv4_address_and_its_mapped_form_are_judged_alike(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let mapped = IpAddr::V6(address.to_ipv6_mapped());
            prop_assert_eq!(may_be_called(mapped, &[]), may_be_called(IpAddr::V4(address), &[]));
        }
    }

    #[test]
    fn what_the_standard_library_knows_as_special_is_refused() {
        for high in 0..=u16::MAX {
            for low in [0, 1, 0x0200, 0x6400, 0x7100, u16::MAX] {
                let a = Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
                let local = a.is_private() || a.is_loopback() || a.is_link_local();
                let special = a.is_multicast() || a.is_documentation() || a.is_unspecified();
                if local || special || a.is_broadcast() {
                    assert!(!may_be_called(IpAddr::V4(a), &[]), "{a}");
                }
            }
        }
    }
}
