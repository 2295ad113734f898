//! Signs that a developer and a worker are the same person, who could pay themselves with a stolen card.

use std::net::IpAddr;
use std::time::Duration;

use ring::hmac;

use crate::domain::accounts::api_key::hex;

/// How long the mark of an address is kept.
pub const ADDRESS_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The name of the secret that marks addresses. All servers on a database share it.
pub const ADDRESS_SECRET: &str = "client_addresses";

/// The mailbox that an e-mail address belongs to: what follows a plus sign does not matter, nor do dots
/// with a provider that ignores them.
pub fn mailbox(email: &str) -> String {
    let email = email.trim().to_lowercase();
    let Some((name, host)) = email.rsplit_once('@') else {
        return email;
    };
    let name = name.split('+').next().unwrap_or(name);
    match host {
        "gmail.com" | "googlemail.com" => format!("{}@gmail.com", name.replace('.', "")),
        host => format!("{name}@{host}"),
    }
}

/// A keyed hash of an address: it can be compared, but without the key nobody can tell the address. None
/// for addresses that tell nothing about a person, such as those of one's own machine or network.
pub fn address_mark(secret: &str, address: IpAddr) -> Option<String> {
    let address = address.to_canonical();
    let tells_nothing = match address {
        IpAddr::V4(v4) => {
            v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified()
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
        }
    };
    if tells_nothing {
        return None;
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let mac = hmac::sign(&key, address.to_string().as_bytes());
    Some(hex(&mac.as_ref()[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_mailbox_are_the_same() {
        for (one, other) in [
            ("ada@example.com", "ADA@Example.com "),
            ("ada@example.com", "ada+work@example.com"),
            ("ada.lovelace@gmail.com", "adalovelace+x@googlemail.com"),
        ] {
            assert_eq!(mailbox(one), mailbox(other));
        }
        for (one, other) in [
            ("ada@example.com", "ada@example.org"),
            ("a.da@example.com", "ada@example.com"),
            ("ada@gmail.com", "adah@gmail.com"),
            ("ada", "ada@example.com"),
        ] {
            assert_ne!(mailbox(one), mailbox(other));
        }
    }

    #[test]
    fn a_mark_needs_the_key_and_an_address_that_tells_something() {
        let mark = |secret: &str, address: &str| address_mark(secret, address.parse().unwrap());
        let known = mark("key", "203.0.113.7").unwrap();
        assert_eq!(mark("key", "203.0.113.7"), Some(known.clone()));
        assert_eq!(mark("key", "::ffff:203.0.113.7"), Some(known.clone()));
        assert_ne!(mark("key", "203.0.113.8"), Some(known.clone()));
        assert_ne!(mark("other", "203.0.113.7"), Some(known.clone()));
        assert_eq!(known.len(), 32);
        assert!(mark("key", "2001:db8::1").is_some());
        for nobody in [
            "127.0.0.1",
            "::1",
            "10.1.2.3",
            "192.168.0.1",
            "169.254.1.1",
            "0.0.0.0",
            "fd00::1",
            "fe80::1",
        ] {
            assert_eq!(mark("key", nobody), None, "{nobody}");
        }
    }
}
