//! Where a URL leads, and where it must not.

use legwork::outbound::{Outbound, OutboundError, OutboundSettings};

use super::{Names, endpoint, post, settings, to};
use crate::support::{Receiver, Response};

const REFUSED: &str = "must lead to public addresses only";

/// Refused when it is configured and when it is called.
async fn assert_refused(outbound: &Outbound, url: &str) {
    let checked = outbound.check(&endpoint(url)).await;
    assert_eq!(checked, Err(REFUSED.to_owned()), "{url}");
    let called = post(outbound, url).await;
    assert!(
        matches!(called, Err(OutboundError::Forbidden(_))),
        "{url}: {called:?}"
    );
}

#[tokio::test]
async fn no_spelling_of_our_own_address_is_called() {
    let receiver = Receiver::start().await;
    let outbound = Outbound::new(&settings(&receiver, &[])).unwrap();
    for host in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "0177.1",
        "017700000001",
        "%31%32%37.0.0.1",
        "①②⑦.0.0.1",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "localhost",
        "LOCALHOST.",
        "anything.localhost",
    ] {
        assert_refused(&outbound, &receiver.url_at(host, "/")).await;
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_name_is_refused_for_any_of_its_addresses() {
    let receiver = Receiver::start().await;
    for addresses in [
        &["127.0.0.1"][..],
        &["8.8.8.8", "127.0.0.1"],
        &["127.0.0.1", "8.8.8.8"],
        &["8.8.8.8", "::1"],
        &["::ffff:127.0.0.1"],
    ] {
        let names = Names::that_are(&[addresses]);
        let outbound = Outbound::with_resolver(&settings(&receiver, &[]), names).unwrap();
        for host in ["hooks.example", "hooks.example."] {
            assert_refused(&outbound, &receiver.url_at(host, "/")).await;
        }
    }
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn a_refusal_does_not_tell_where_a_name_leads() {
    let receiver = Receiver::start().await;
    let names = Names::that_are(&[&["10.20.30.40"]]);
    let outbound = Outbound::with_resolver(&settings(&receiver, &[]), names).unwrap();
    let fault = post(&outbound, "https://wiki.example/secret").await;
    assert_eq!(
        fault.unwrap_err().to_string(),
        "wiki.example was not called: it resolves to an address that is not public."
    );
}

#[tokio::test]
async fn a_name_that_turns_to_us_after_the_check_is_not_called() {
    let receiver = Receiver::start().await;
    let names = Names::that_are(&[&["8.8.8.8"], &["127.0.0.1"]]);
    let outbound = Outbound::with_resolver(&settings(&receiver, &[]), names).unwrap();
    let url = receiver.url_at("hooks.example", "/");
    assert_eq!(outbound.check(&endpoint(&url)).await, Ok(()));
    let called = post(&outbound, &url).await;
    assert!(
        matches!(called, Err(OutboundError::Forbidden(_))),
        "{called:?}"
    );
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn what_was_judged_is_what_is_connected_to() {
    let receiver = Receiver::start().await;
    // Whoever asked a second time would be sent where nobody answers.
    let names = Names::that_are(&[&["127.0.0.1"], &["127.0.0.9"]]);
    let outbound = Outbound::with_resolver(&settings(&receiver, &["127.0.0.0/8"]), names.clone());
    let outbound = outbound.unwrap();
    let url = receiver.url_at("hooks.example", "/");
    for _ in 0..3 {
        assert_eq!(post(&outbound, &url).await.unwrap().status, 200);
    }
    assert_eq!(names.asked(), ["hooks.example"]);
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn the_operator_may_allow_a_network() {
    let receiver = Receiver::start().await;
    let outbound = to(&receiver);
    for host in ["127.0.0.1", "localhost", "hooks.example", "hooks.example."] {
        let url = receiver.url_at(host, "/");
        assert_eq!(outbound.check(&endpoint(&url)).await, Ok(()), "{url}");
        assert_eq!(post(&outbound, &url).await.unwrap().status, 200, "{url}");
    }
    assert_refused(&outbound, &receiver.url_at("127.0.0.2", "/")).await;
}

#[tokio::test]
async fn the_resolver_of_the_system_is_asked() {
    let receiver = Receiver::start().await;
    let loopback = settings(&receiver, &["127.0.0.0/8", "::1/128"]);
    let outbound = Outbound::new(&loopback).unwrap();
    let answer = post(&outbound, &receiver.url_at("localhost", "/")).await;
    assert_eq!(answer.unwrap().status, 200);
}

#[tokio::test]
async fn a_dead_address_does_not_keep_us_from_the_next() {
    let receiver = Receiver::start().await;
    let names = Names::that_are(&[&["127.0.0.9", "127.0.0.1"]]);
    let outbound = Outbound::with_resolver(&settings(&receiver, &["127.0.0.0/8"]), names);
    let answer = post(&outbound.unwrap(), &receiver.url_at("hooks.example", "/")).await;
    assert_eq!(answer.unwrap().status, 200);
}

#[tokio::test]
async fn a_name_that_does_not_exist_yet_may_be_configured() {
    let names = Names::that_are(&[]);
    let outbound = Outbound::with_resolver(&OutboundSettings::default(), names).unwrap();
    let url = "https://soon.example/";
    assert_eq!(outbound.check(&endpoint(url)).await, Ok(()));
    let fault = post(&outbound, url).await.unwrap_err();
    assert_eq!(
        fault,
        OutboundError::Unresolved("the name does not exist".to_owned())
    );
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let (outer, inner) = (Receiver::start().await, Receiver::start().await);
    let outbound = to(&outer);
    for target in [
        inner.url("/"),
        inner.url_at("hooks.example", "/"),
        outer.url("/elsewhere"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
    ] {
        outer.queue([Response::redirect(&target)]);
        let answer = post(&outbound, &outer.url("/")).await.unwrap();
        assert_eq!(answer.status, 307, "{target}");
    }
    assert_eq!(inner.connections(), 0);
    assert!(outer.received().iter().all(|request| request.path == "/"));
}

#[tokio::test]
async fn a_call_arrives() {
    let receiver = Receiver::start().await;
    let url = receiver.url_at("hooks.example", "/");
    assert_eq!(post(&to(&receiver), &url).await.unwrap().status, 200);
    assert_eq!(receiver.received().len(), 1);
}

/// The environment of this process belongs to all tests, so another process runs the one above.
#[test]
fn no_proxy_is_taken_from_the_environment() {
    let mut arriving = std::process::Command::new(std::env::current_exe().unwrap());
    arriving.args(["--exact", "outbound::network::a_call_arrives"]);
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
        for name in [name.to_owned(), name.to_lowercase()] {
            arriving.env(name, "http://127.0.0.1:9");
        }
    }
    arriving.env_remove("NO_PROXY").env_remove("no_proxy");
    let output = arriving.output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("1 passed"), "{told}");
}
