//! What is sent, what comes back, and what becomes of answers that are none.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue};
use futures_util::future::join_all;
use legwork::outbound::{self, OutboundError};
use tokio::net::TcpListener;

use super::{IMPATIENCE, PATIENCE, endpoint, post, to};
use crate::support::{Gate, Receiver, Response, eventually};

const OK: &str = "HTTP/1.1 200 OK\r\n";
const KEPT: usize = 4_096;

/// What becomes of a call that is answered like this.
async fn answered(
    response: Response,
    timeout: Duration,
) -> Result<outbound::Response, OutboundError> {
    let receiver = Receiver::start().await;
    receiver.queue([response]);
    let url = endpoint(&receiver.url("/"));
    let outbound = to(&receiver);
    let called = outbound.post(&url, HeaderMap::new(), Bytes::new(), timeout);
    called.await
}

#[tokio::test]
async fn a_request_arrives_as_it_was_given() {
    let receiver = Receiver::start().await;
    let mut headers = HeaderMap::new();
    headers.insert("x-service-event", HeaderValue::from_static("task.created"));
    let body = Bytes::from_static(b"{\"a\": \"\xc3\xbc\"}\n");
    let url = endpoint(&receiver.url_at("hooks.example", "/a%2Fb?c=d&e#fragment"));
    let outbound = to(&receiver);
    let called = outbound.post(&url, headers, body.clone(), PATIENCE);
    assert_eq!(called.await.unwrap().status, 200);

    let received = receiver.until(1).await.remove(0);
    assert_eq!(received.method, "POST");
    assert_eq!(received.path, "/a%2Fb?c=d&e");
    assert_eq!(received.body, body);
    assert_eq!(received.header("x-service-event"), Some("task.created"));
    let agent = concat!("legwork/", env!("CARGO_PKG_VERSION"));
    assert_eq!(received.header("user-agent"), Some(agent));
    let host = format!("hooks.example:{}", receiver.address.port());
    assert_eq!(received.header("host"), Some(host.as_str()));
}

#[tokio::test]
async fn an_answer_is_given_back_whatever_it_says() {
    let receiver = Receiver::start().await;
    let outbound = to(&receiver);
    receiver.answer(|request| Response::status(request.path[1..].parse().unwrap()));
    for status in [200, 204, 301, 400, 410, 500, 599] {
        let url = receiver.url(&format!("/{status}"));
        let answer = post(&outbound, &url).await.unwrap();
        assert_eq!((answer.status, answer.body), (status, Vec::new()));
    }
}

#[tokio::test]
async fn of_an_answer_the_first_4_kib_are_kept() {
    let receiver = Receiver::start().await;
    let outbound = to(&receiver);
    for length in [0, 1, KEPT - 1, KEPT, KEPT + 1, 1 << 20] {
        let body: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        receiver.queue([Response::with(200, &[], &body)]);
        let answer = post(&outbound, &receiver.url("/")).await.unwrap();
        assert!(answer.body == body[..length.min(KEPT)], "{length}");
    }
}

#[tokio::test]
async fn nothing_is_unpacked_or_remembered() {
    let receiver = Receiver::start().await;
    let outbound = to(&receiver);
    let headers = [("content-encoding", "gzip"), ("set-cookie", "a=b")];
    receiver.queue([Response::with(200, &headers, b"not gzip")]);
    let answer = post(&outbound, &receiver.url("/")).await.unwrap();
    assert_eq!(answer.body, b"not gzip");
    post(&outbound, &receiver.url("/")).await.unwrap();
    for received in receiver.until(2).await {
        assert_eq!(received.header("accept-encoding"), None);
        assert_eq!(received.header("cookie"), None);
    }
}

#[tokio::test]
async fn a_connection_is_used_again_unless_its_answer_was_cut() {
    let receiver = Receiver::start().await;
    let outbound = to(&receiver);
    receiver.queue([
        Response::status(200),
        Response::with(500, &[], &[b'x'; KEPT - 1]),
        Response::endless(&format!("{OK}\r\n"), "x"),
        Response::status(200),
        Response::status(200),
    ]);
    for _ in 0..5 {
        post(&outbound, &receiver.url("/")).await.unwrap();
    }
    let connections: Vec<usize> = receiver.received().iter().map(|r| r.connection).collect();
    let (before, after) = (connections[0], connections[3]);
    assert_eq!(connections, [before, before, before, after, after]);
    assert_ne!(before, after);
}

/// One host may have the endpoints of many accounts.
#[tokio::test]
async fn as_many_connections_are_kept_as_were_used_at_once() {
    const AT_ONCE: usize = 40;
    let receiver = Receiver::start().await;
    let (outbound, url) = (to(&receiver), receiver.url("/"));
    let opened_none = async || {
        let (before, called) = (receiver.connections(), receiver.received().len());
        let gate = Gate::default();
        let held = Response::status(200).behind(&gate.handle());
        receiver.queue(std::iter::repeat_n(held, AT_ONCE));
        let calls = join_all((0..AT_ONCE).map(|_| post(&outbound, &url)));
        let opening = async {
            receiver.until(called + AT_ONCE).await;
            gate.open();
        };
        for answer in futures_util::future::join(calls, opening).await.0 {
            assert_eq!(answer.unwrap().status, 200);
        }
        receiver.connections() == before
    };
    assert!(!opened_none().await);
    eventually("no connection has to be opened", opened_none).await;
}

/// A receiver closes a kept connection in the moment in which it is used again.
#[tokio::test]
async fn what_may_arrive_twice_is_sent_again_when_a_kept_connection_was_closed() {
    let early = Err(OutboundError::Lost(
        "the connection was closed too early".to_owned(),
    ));
    for closing in [Response::close(""), Response::hang_up("")] {
        for host in ["127.0.0.1", "hooks.example"] {
            let receiver = Receiver::start().await;
            let (outbound, url) = (to(&receiver), endpoint(&receiver.url_at(host, "/")));
            let repeatable = || {
                let body = Bytes::from_static(b"{}");
                outbound.post_repeatable(&url, HeaderMap::new(), body, PATIENCE)
            };
            receiver.queue([Response::status(200), closing.clone()]);
            assert_eq!(repeatable().await.unwrap().status, 200);
            assert_eq!(repeatable().await.unwrap().status, 200);
            let received = receiver.received();
            let connections: Vec<_> = received.iter().map(|one| one.connection).collect();
            assert_eq!(connections, [1, 1, 2]);
            assert_eq!(received[1].body, received[2].body);
            // On a new connection it is an answer, and so is another close after the first.
            receiver.queue([closing.clone()]);
            assert_eq!(repeatable().await, early);
            assert_eq!(receiver.received().len(), 4);
            // What must not arrive twice is not sent twice.
            receiver.queue([Response::status(200), closing.clone()]);
            post(&outbound, &receiver.url_at(host, "/")).await.unwrap();
            assert_eq!(post(&outbound, &receiver.url_at(host, "/")).await, early);
            assert_eq!(receiver.received().len(), 6);
        }
    }
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    let chunked = format!("{OK}transfer-encoding: chunked\r\n\r\n");
    for response in [
        Response::endless(&format!("{OK}\r\n"), "x"),
        Response::endless(&chunked, "1\r\nx\r\n"),
        Response::endless(&format!("{OK}content-length: 9999999999\r\n\r\n"), "xxx"),
    ] {
        let answer = answered(response, PATIENCE).await.unwrap();
        assert!(answer.body == [b'x'; KEPT]);
    }
}

#[tokio::test]
async fn a_head_without_end_is_lost() {
    for (start, piece) in [
        ("", "HTTP"),
        (OK, "x: y\r\n"),
        (&format!("{OK}x: "), "yyyyyyyyyyyyyyyy"),
    ] {
        let fault = answered(Response::endless(start, piece), PATIENCE).await;
        let lost = |why: &str| Err(OutboundError::Lost(why.to_owned()));
        // What is no head at all may be noticed before it is too long.
        let no_head = start.is_empty() && fault == lost("the response was not HTTP");
        let too_large = fault == lost("the response headers were too large");
        assert!(no_head || too_large, "{start}{piece}: {fault:?}");
    }
}

/// Thousands of calls may be under way, so a head of hundreds of kilobytes is too much.
#[tokio::test]
async fn a_head_of_a_few_kilobytes_is_read_and_a_longer_one_is_lost() {
    let head = |bytes: usize| format!("{OK}x: {}\r\ncontent-length: 0\r\n\r\n", "y".repeat(bytes));
    let fine = answered(Response::hang(&head(6 << 10)), PATIENCE).await;
    assert_eq!(fine.unwrap().status, 200);
    let fault = answered(Response::hang(&head(64 << 10)), PATIENCE).await;
    let too_large = "the response headers were too large".to_owned();
    assert_eq!(fault, Err(OutboundError::Lost(too_large)));
}

#[tokio::test]
async fn the_time_is_for_all_of_the_answer() {
    let pause = Duration::from_millis(10);
    let chunked = format!("{OK}transfer-encoding: chunked\r\n\r\n");
    let responses = [
        Response::hang(""),
        Response::hang("HTTP/1.1 2"),
        Response::hang(OK),
        Response::hang(&format!("{OK}content-length: 1\r\n\r\n")),
        Response::hang(&format!("{chunked}1\r\nx\r\n")),
        Response::drip(OK, "a: b\r\n", pause * 10),
        Response::drip(&format!("{OK}\r\n"), "x", pause),
        Response::drip(&chunked, "1\r\nx\r\n", pause),
        Response::endless("", "HTTP/1.1 100 Continue\r\n\r\n"),
    ];
    let calls = responses.map(|response| async move {
        let fault = answered(response.clone(), IMPATIENCE).await;
        assert_eq!(fault, Err(OutboundError::TimedOut), "{response:?}");
    });
    futures_util::future::join_all(calls).await;
}

#[tokio::test]
async fn the_time_is_for_the_connection_too() {
    let receiver = Receiver::start().await;
    // The system accepts the connection. Nobody else does.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = endpoint(&format!("https://{}/", silent.local_addr().unwrap()));
    let outbound = to(&receiver);
    let called = outbound.post(&url, HeaderMap::new(), Bytes::new(), IMPATIENCE);
    assert_eq!(called.await, Err(OutboundError::TimedOut));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_lost() {
    for start in [
        "",
        "HTTP/1.1 2",
        OK,
        &format!("{OK}content-length: 5\r\n\r\nabc"),
        &format!("{OK}transfer-encoding: chunked\r\n\r\n5\r\nabc"),
    ] {
        let fault = answered(Response::close(start), PATIENCE).await;
        let early = "the connection was closed too early".to_owned();
        assert_eq!(fault, Err(OutboundError::Lost(early)), "{start}");
    }
}

#[tokio::test]
async fn a_body_that_only_the_end_of_the_connection_ends_is_whole() {
    for body in ["", "abc"] {
        let text = format!("{OK}\r\n{body}");
        for response in [Response::close(&text), Response::hang_up(&text)] {
            let answer = answered(response, PATIENCE).await;
            assert_eq!(answer.unwrap().body, body.as_bytes());
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_not_http_is_lost() {
    for noise in [
        "SSH-2.0-OpenSSH_9.2p1\r\n",
        "220 mail.example ESMTP\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 two OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "\0\0\0\0",
    ] {
        let fault = answered(Response::close(noise), PATIENCE).await;
        assert!(
            matches!(fault, Err(OutboundError::Lost(_))),
            "{noise}: {fault:?}"
        );
    }
}
