use super::*;
use axum::http::{HeaderName, HeaderValue};

const PROXY: &str = "10.0.0.1";

/// The client as seen by a service that trusts 10.0.0.0/8 and fd00::/8.
fn client(peer: &str, headers: &[(&'static str, &[u8])]) -> String {
    let trusted = ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().unwrap());
    let mut sent = HeaderMap::new();
    for (name, value) in headers {
        let value = HeaderValue::from_bytes(value).unwrap();
        sent.append(HeaderName::from_static(name), value);
    }
    behind_proxies(peer.parse().unwrap(), &sent, &trusted).to_string()
}

fn plain(value: &str) -> String {
    client(PROXY, &[(X_FORWARDED_FOR, value.as_bytes())])
}

fn forwarded(value: &str) -> String {
    client(PROXY, &[(FORWARDED, value.as_bytes())])
}

#[test]
fn only_a_trusted_peer_is_believed() {
    for peer in ["192.0.2.9", "127.0.0.1", "::1", "2001:db8::9"] {
        for name in [X_FORWARDED_FOR, FORWARDED] {
            assert_eq!(client(peer, &[(name, b"198.51.100.7")]), peer);
            assert_eq!(client(peer, &[(name, b"for=198.51.100.7")]), peer);
        }
    }
    assert_eq!(client(PROXY, &[]), PROXY);
    let mapped = client("::ffff:10.0.0.1", &[(X_FORWARDED_FOR, b"198.51.100.7")]);
    assert_eq!(mapped, "198.51.100.7");
}

#[test]
fn the_walk_goes_from_the_right_to_the_first_who_is_not_trusted() {
    for (value, expected) in [
        ("198.51.100.7", "198.51.100.7"),
        ("6.6.6.6, 198.51.100.7", "198.51.100.7"),
        ("6.6.6.6, 198.51.100.7, 10.0.0.2,10.0.0.3", "198.51.100.7"),
        ("10.0.0.9, 10.0.0.2", "10.0.0.9"),
        ("198.51.100.7:4711", "198.51.100.7"),
        ("2001:db8::7", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("6.6.6.6, fd00::1", "6.6.6.6"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("6.6.6.6, 198.51.100.7, ,", "198.51.100.7"),
    ] {
        assert_eq!(plain(value), expected, "{value}");
    }
}

#[test]
fn what_is_no_address_ends_the_walk_at_the_last_good_one() {
    for (value, expected) in [
        ("", PROXY),
        ("unknown", PROXY),
        ("6.6.6.6, unknown", PROXY),
        ("6.6.6.6, unknown, 10.0.0.2", "10.0.0.2"),
        ("6.6.6.6, 10.0.0.999, 10.0.0.2", "10.0.0.2"),
        ("6.6.6.6, 198.51.100.7:port", PROXY),
        ("6.6.6.6, 198.51.100.7:123456", PROXY),
        ("6.6.6.6, [198.51.100.7]", PROXY),
        ("6.6.6.6, [2001:db8::7", PROXY),
        ("6.6.6.6, fe80::1%eth0", PROXY),
        ("6.6.6.6, \"198.51.100.7\"", PROXY),
        ("6.6.6.6 198.51.100.7", PROXY),
    ] {
        assert_eq!(plain(value), expected, "{value}");
    }
    let not_text = client(PROXY, &[(X_FORWARDED_FOR, b"6.6.6.6, \xff\xfe")]);
    assert_eq!(not_text, PROXY);
}

#[test]
fn forwarded_is_read_as_rfc_7239_writes_it() {
    for (value, expected) in [
        ("for=198.51.100.7", "198.51.100.7"),
        ("For=\"198.51.100.7:4711\"", "198.51.100.7"),
        ("for=\"[2001:db8::7]\"", "2001:db8::7"),
        ("for=\"[2001:db8::7]:4711\"", "2001:db8::7"),
        ("for=\"[2001:db8::7]:_port\"", "2001:db8::7"),
        (
            "by=10.0.0.1;FOR=198.51.100.7;proto=https; host=\"a, b\"",
            "198.51.100.7",
        ),
        (
            "for=6.6.6.6, for=198.51.100.7, for=10.0.0.2",
            "198.51.100.7",
        ),
        (r#"for=6.6.6.6, for="198.51.100\.7""#, "198.51.100.7"),
        (
            r#"for=198.51.100.7;host="a\", for=6.6.6.6""#,
            "198.51.100.7",
        ),
        (r#"for=198.51.100.7;host="a\\""#, "198.51.100.7"),
        // What a client leaves open does not swallow what the proxy adds.
        (r#"for=6.6.6.6;by=", for=198.51.100.7"#, "198.51.100.7"),
        (r#"for=6.6.6.6;by=", for="[2001:db8::7]""#, "2001:db8::7"),
    ] {
        assert_eq!(forwarded(value), expected, "{value}");
    }
}

#[test]
fn what_forwarded_hides_ends_the_walk() {
    for value in [
        "for=unknown",
        "for=_hidden",
        "for=\"_SEVKISEK\"",
        "proto=https",
        "for=198.51.100.7:4711",
        "for=[2001:db8::7]",
        "for=\"2001:db8::7\"",
        "for=\"198.51.100.7",
        "for=\"198.51.100.7\"x",
        "for=\"198.51.100.7\\",
        "for =198.51.100.7",
        "for=198.51.100.7;for=6.6.6.6",
        "for=198.51.100.7;",
        "198.51.100.7",
        "=198.51.100.7",
    ] {
        let value = format!("for=6.6.6.6, {value}");
        assert_eq!(forwarded(&value), PROXY, "{value}");
    }
}

#[test]
fn several_lines_are_one_list() {
    let lines: [(&str, &[u8]); 3] = [
        (X_FORWARDED_FOR, b"6.6.6.6"),
        (X_FORWARDED_FOR, b"198.51.100.7, 10.0.0.3"),
        (X_FORWARDED_FOR, b"10.0.0.2"),
    ];
    assert_eq!(client(PROXY, &lines), "198.51.100.7");
    let lines: [(&str, &[u8]); 2] = [
        (FORWARDED, b"for=198.51.100.7"),
        (FORWARDED, b"for=10.0.0.2"),
    ];
    assert_eq!(client(PROXY, &lines), "198.51.100.7");
}

#[test]
fn a_client_who_adds_forwarded_changes_nothing_behind_a_proxy_that_sets_the_other() {
    let both: [(&str, &[u8]); 2] = [
        (FORWARDED, b"for=6.6.6.6"),
        (X_FORWARDED_FOR, b"198.51.100.7"),
    ];
    assert_eq!(client(PROXY, &both), "198.51.100.7");
}

#[test]
fn a_long_list_is_not_read_to_its_end() {
    let many = |entry: &str| vec![entry; 10_000].join(",");
    assert_eq!(plain(&many("198.51.100.7")), "198.51.100.7");
    // Even when all of them are trusted: the walk ends after so many hops.
    let proxies = format!("6.6.6.6,{}", many("10.0.0.2"));
    assert_eq!(plain(&proxies), "10.0.0.2");
    let proxies = format!("for=6.6.6.6,{}", many("for=10.0.0.2"));
    assert_eq!(forwarded(&proxies), "10.0.0.2");
    assert_eq!(plain(&format!("6.6.6.6{}", ",".repeat(10_000))), PROXY);
    assert_eq!(forwarded(&many("\"\\")), PROXY);
}
