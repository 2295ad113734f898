//! What is local, and what only that allows.

use super::given;

#[test]
fn local_mode_is_a_loopback_address() {
    let local = |listen| given(&[("listen", listen)], &[], None).unwrap().is_local();
    assert!(local("127.0.0.1:8080"));
    assert!(local("127.9.9.9:80"));
    assert!(local("[::1]:8080"));
    assert!(local("localhost:8080"));
    assert!(!local("0.0.0.0:8080"));
    assert!(!local("[::]:8080"));
}

#[test]
fn local_mode_ends_where_a_public_url_begins() {
    let local = |url| {
        let settings = given(&[("public_url", url)], &[], None);
        settings.unwrap().is_local()
    };
    assert!(local("http://127.0.0.1:9000"));
    assert!(local("http://[::1]:9000"));
    assert!(local("http://localhost:9000"));
    assert!(!local("https://legwork.example.com"));
    assert!(!local("https://localhost.example.com"));
    assert!(!local("http://192.168.1.7:8080"));
}

#[test]
fn names_of_an_authority_are_public() {
    let domains = (
        "acme_domains",
        "legwork.example.com,www.legwork.example.com",
    );
    let settings = given(&[domains], &[], None).unwrap();
    let url = settings.public_url.as_deref();
    assert_eq!(url, Some("https://legwork.example.com"));
    assert!(!settings.is_local() && settings.check_processor().is_err());
    let other = ("public_url", "https://other.example.com");
    let settings = given(&[domains, other], &[], None).unwrap();
    let url = settings.public_url.as_deref();
    assert_eq!(url, Some("https://other.example.com"));
}

#[test]
fn what_local_mode_allows_ends_with_it() {
    let allowed = |listen, url: &str| {
        let mut flags = vec![("listen", listen), ("public_url", url)];
        flags.retain(|(_, value)| !value.is_empty());
        let settings = given(&flags, &[], None);
        let settings = settings.unwrap();
        let local = settings.local();
        [
            local.creates_an_account(),
            local.serves_metrics(),
            local.explains_failed_calls(),
            local.hides_the_sandbox_banner(),
            !local.reachable().is_empty(),
            !settings.outbound.allow.is_empty(),
        ]
    };
    assert_eq!(allowed("127.0.0.1:8080", ""), [true; 6]);
    let behind_a_proxy = allowed("127.0.0.1:8080", "https://legwork.example.com");
    assert_eq!(behind_a_proxy, [false; 6]);
    assert_eq!(allowed("0.0.0.0:8080", ""), [false; 6]);
}

#[test]
fn the_sandbox_on_a_public_url_must_be_wanted() {
    let starts = |url: &str, more: &[(&str, &str)]| {
        let mut flags = vec![("public_url", url)];
        flags.retain(|(_, value)| !value.is_empty());
        flags.extend(more);
        given(&flags, &[], None).unwrap().check_processor()
    };
    let public = "https://legwork.example.com";
    let refused = starts(public, &[]).unwrap_err();
    assert!(refused.contains("LEGWORK_ALLOW_SANDBOX=on"), "{refused}");
    assert!(refused.contains(public), "{refused}");
    assert!(starts(public, &[("listen", "0.0.0.0:80")]).is_err());
    assert_eq!(starts(public, &[("allow_sandbox", "on")]), Ok(()));
    let stripe = [
        ("payments", "stripe"),
        ("stripe_key", "sk_live_1"),
        ("stripe_webhook_secret", "whsec_1"),
    ];
    assert_eq!(starts(public, &stripe), Ok(()));
    assert_eq!(starts("", &[]), Ok(()));
    assert_eq!(starts("http://localhost:8080", &[]), Ok(()));
}
