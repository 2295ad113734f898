//! Whom we believe to be who they say.

use std::net::SocketAddr;

use legwork::outbound::{Outbound, OutboundError, OutboundSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Names, post, to};
use crate::support::{Certificate, Receiver};

fn unreachable(reason: &str) -> OutboundError {
    OutboundError::Unreachable(reason.to_owned())
}

const NOT_TRUSTED: &str = "its certificate was not issued by a trusted authority";

#[tokio::test]
async fn nothing_is_sent_to_whom_a_certificate_does_not_vouch_for() {
    for (certificate, reason) in [
        (Certificate::Expired, "its certificate has expired"),
        (Certificate::NotYetValid, "its certificate is not valid yet"),
        (
            Certificate::OfAnotherName,
            "its certificate is for another name",
        ),
        (Certificate::SelfSigned, NOT_TRUSTED),
        (Certificate::OfAnotherAuthority, NOT_TRUSTED),
    ] {
        let receiver = Receiver::with_certificate(certificate).await;
        for host in ["127.0.0.1", "hooks.example"] {
            let fault = post(&to(&receiver), &receiver.url_at(host, "/")).await;
            assert_eq!(fault, Err(unreachable(reason)), "{certificate:?}");
        }
        assert_eq!(receiver.connections(), 2, "{certificate:?}");
        assert!(receiver.received().is_empty(), "{certificate:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_named_itself_is_taken_for_what_it_says() {
    let own = Receiver::with_certificate(Certificate::ItsOwnAuthority).await;
    let answer = post(&to(&own), &own.url("/")).await.unwrap();
    assert_eq!(answer.status, 200);
    // Under another authority, it is not trusted.
    let other = Receiver::start().await;
    let refused = post(&to(&other), &own.url("/")).await;
    assert!(refused.is_err());
    for (certificate, reason) in [
        (
            Certificate::ItsOwnAuthorityExpired,
            "its certificate has expired",
        ),
        (
            Certificate::ItsOwnAuthorityOfAnotherName,
            "its certificate is for another name",
        ),
    ] {
        let receiver = Receiver::with_certificate(certificate).await;
        let fault = post(&to(&receiver), &receiver.url("/")).await;
        assert_eq!(fault, Err(unreachable(reason)), "{certificate:?}");
        assert!(receiver.received().is_empty(), "{certificate:?}");
    }
}

#[tokio::test]
async fn a_certificate_is_for_the_name_in_the_url() {
    let receiver = Receiver::start().await;
    for host in [
        "other.example",
        "hooks.example.other.example",
        "x.hooks.example",
    ] {
        let fault = post(&to(&receiver), &receiver.url_at(host, "/")).await;
        let other = unreachable("its certificate is for another name");
        assert_eq!(fault, Err(other), "{host}");
    }
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn an_authority_of_its_own_is_trusted_only_where_it_is_named() {
    let receiver = Receiver::start().await;
    let settings = OutboundSettings {
        allow: vec!["127.0.0.0/8".parse().unwrap()],
        authority: None,
    };
    let outbound = Outbound::with_resolver(&settings, Names::local()).unwrap();
    let fault = post(&outbound, &receiver.url("/")).await;
    assert!(
        matches!(fault, Err(OutboundError::Unreachable(_))),
        "{fault:?}"
    );
    assert!(receiver.received().is_empty());
    assert_eq!(
        post(&to(&receiver), &receiver.url("/"))
            .await
            .unwrap()
            .status,
        200
    );
}

#[test]
fn a_file_without_an_authority_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for file in [empty, folder.path().join("missing.pem")] {
        let settings = OutboundSettings {
            authority: Some(file.clone()),
            ..OutboundSettings::default()
        };
        let error = Outbound::new(&settings).err().unwrap();
        assert!(error.contains(file.to_str().unwrap()), "{error}");
    }
}

/// Answers every connection with these bytes, in the clear.
async fn in_the_clear(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // What is unread when a socket closes would turn its last words into a reset.
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    });
    address
}

#[tokio::test]
async fn nothing_is_sent_in_the_clear() {
    let receiver = Receiver::start().await;
    for (bytes, reason) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "it does not support TLS",
        ),
        (b"220 mail.example ESMTP\r\n", "it does not support TLS"),
        (b"", "the connection was closed too early"),
    ] {
        let address = in_the_clear(bytes).await;
        let fault = post(&to(&receiver), &format!("https://{address}/")).await;
        assert_eq!(fault, Err(unreachable(reason)));
    }
}

#[tokio::test]
async fn a_closed_port_refuses() {
    let receiver = Receiver::start().await;
    let closed = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let fault = post(
        &to(&receiver),
        &format!("https://localhost:{}/", closed.port()),
    )
    .await;
    let fault = fault.unwrap_err();
    assert_eq!(fault, unreachable("the connection was refused"));
    assert_eq!(
        fault.to_string(),
        "The host could not be reached: the connection was refused."
    );
}
