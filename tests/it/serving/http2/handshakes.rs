//! TLS handshakes: which protocol follows, and who holds a connection without one.

use axum::Router;
use axum::routing::get;
use legwork::api::ConnectionLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::frames::over;
use crate::support::{Edge, SOON, Tls, in_time};

fn hello() -> Router {
    Router::new().route("/", get(async || "hello\n"))
}

/// All that comes until the other side closes.
async fn rest(mut stream: impl AsyncReadExt + Unpin) -> String {
    let mut answer = Vec::new();
    // A reset is an end too.
    let _ = in_time(stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_client_that_does_not_ask_for_http_2_gets_http_1() {
    let tls = Tls::new(&["h2", "http/1.1"]);
    let edge = Edge::serve(hello(), over(&tls));
    for protocols in [&["http/1.1"][..], &[]] {
        let mut stream = tls.connect(edge.address, protocols).await;
        let request = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let answer = rest(stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with("hello\n"), "{answer}");
    }
}

#[tokio::test]
async fn a_certificate_authority_sees_the_certificate_and_no_more() {
    let tls = Tls::new(&["h2", "http/1.1", "acme-tls/1"]);
    let edge = Edge::serve(hello(), over(&tls));
    let stream = tls.connect(edge.address, &["acme-tls/1"]).await;
    let chosen = stream.get_ref().1.alpn_protocol();
    assert_eq!(chosen, Some(b"acme-tls/1".as_slice()));
    assert_eq!(rest(stream).await, "");
}

#[tokio::test]
async fn a_handshake_that_does_not_go_on_is_ended() {
    let tls = Tls::new(&["h2"]);
    let edge = Edge::serve(hello(), |serving| {
        serving.timeouts.handshake = SOON;
        over(&tls)(serving);
    });
    // Nothing, and the beginning of a ClientHello.
    for beginning in [&b""[..], b"\x16\x03\x01\x02\x00\x01\x00"] {
        let mut stream = TcpStream::connect(edge.address).await.unwrap();
        stream.write_all(beginning).await.unwrap();
        assert_eq!(rest(stream).await, "");
    }
}

#[tokio::test]
async fn after_the_handshake_a_silent_client_is_closed() {
    let tls = Tls::new(&["h2", "http/1.1"]);
    let edge = Edge::serve(hello(), |serving| {
        serving.timeouts.head = SOON;
        serving.timeouts.write = SOON;
        over(&tls)(serving);
    });
    for protocol in ["h2", "http/1.1"] {
        let stream = tls.connect(edge.address, &[protocol]).await;
        rest(stream).await;
    }
}

#[tokio::test]
async fn handshakes_count_as_connections() {
    let tls = Tls::new(&["h2"]);
    let edge = Edge::serve(hello(), |serving| {
        serving.limits = ConnectionLimits::new(4, Vec::new());
        over(&tls)(serving);
    });
    let _silent = TcpStream::connect(edge.address).await.unwrap();
    // It may be reset before it knows that it was connected.
    if let Ok(refused) = TcpStream::connect(edge.address).await {
        assert_eq!(rest(refused).await, "");
    }
}

#[tokio::test]
async fn plain_http_is_not_answered_on_a_port_with_tls() {
    let tls = Tls::new(&["h2"]);
    let edge = Edge::serve(hello(), over(&tls));
    let mut stream = TcpStream::connect(edge.address).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let answer = rest(stream).await;
    assert!(!answer.contains("hello"), "{answer}");
}
