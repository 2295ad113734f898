//! What a hostile client can do with HTTP/2 alone.

use axum::Router;
use axum::body::Bytes;
use axum::http::Request;
use axum::routing::get;
use futures_util::future::select_all;

use super::frames::{
    CONTINUATION, END_HEADERS, END_STREAM, GET, GOAWAY, HEADERS, INITIAL_WINDOW, MAX_HEADER_LIST,
    MAX_STREAMS, RST_STREAM, Raw, SETTINGS, WINDOW_UPDATE, frame, over, request, setting,
};
use super::{BOTH, client, send};
use crate::support::{Edge, Engine, SOON, Tls, endless, in_time, storefront, tell};

const CANCEL: u32 = 8;
const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;
const MAX_WINDOW: u32 = (1 << 31) - 1;

fn answering(length: usize) -> Router {
    let body = Bytes::from(vec![b'x'; length]);
    Router::new().route("/", get(move || async move { body }))
}

/// A client that never opens its window, or only a little.
#[tokio::test]
async fn a_response_that_the_client_does_not_take_is_dropped() {
    let tls = Tls::new(&["h2"]);
    for (length, window) in [
        (10, 0),
        (10, 1),
        (10, 9),
        (100_000, 20_000),
        (1_000_000, MAX_WINDOW),
    ] {
        let edge = Edge::serve(answering(length), |serving| {
            serving.timeouts.write = SOON;
            over(&tls)(serving);
        });
        let settings = setting(INITIAL_WINDOW, window);
        let mut raw = Raw::open(&tls, &edge, &settings).await;
        raw.send(&request(1)).await.unwrap();
        let reset = raw.until(RST_STREAM).await;
        assert_eq!(
            (reset.stream, reset.error_code()),
            (1, CANCEL),
            "{length}, {window}"
        );
    }
}

/// The window is open, but nobody reads the socket.
#[tokio::test]
async fn a_connection_that_nobody_reads_is_closed() {
    let (router, closed) = endless();
    let tls = Tls::new(&["h2"]);
    let edge = Edge::serve(router, |serving| {
        serving.timeouts.write = SOON;
        over(&tls)(serving);
    });
    let mut raw = Raw::open(&tls, &edge, &setting(INITIAL_WINDOW, MAX_WINDOW)).await;
    let more = (MAX_WINDOW - 65_535).to_be_bytes();
    raw.send(&frame(WINDOW_UPDATE, 0, 0, &more)).await.unwrap();
    raw.send(&request(1)).await.unwrap();
    assert!(in_time(closed).await.is_err());
}

#[tokio::test]
async fn requests_at_once_are_bounded() {
    let forever = async || std::future::pending::<()>().await;
    let tls = Tls::new(&["h2"]);
    let edge = Edge::serve(Router::new().route("/", get(forever)), over(&tls));
    let mut raw = Raw::open(&tls, &edge, &[]).await;
    let settings = raw.until(SETTINGS).await.payload;
    let said = |name: u16, value: u32| settings.chunks(6).any(|one| one == setting(name, value));
    assert!(said(MAX_STREAMS, 100), "{settings:?}");
    assert!(said(MAX_HEADER_LIST, 16 * 1024), "{settings:?}");
    // The server holds a client to them once the client has agreed.
    raw.send(&frame(SETTINGS, 1, 0, &[])).await.unwrap();
    for number in 0..=100 {
        raw.send(&request(2 * number + 1)).await.unwrap();
    }
    let reset = raw.until(RST_STREAM).await;
    assert_eq!((reset.stream, reset.error_code()), (201, REFUSED_STREAM));
}

#[tokio::test]
async fn a_client_that_cancels_all_it_asks_for_is_cut_off() {
    let tls = Tls::new(&["h2"]);
    let edge = Edge::serve(answering(10), over(&tls));
    let mut raw = Raw::open(&tls, &edge, &[]).await;
    let mut burst = Vec::new();
    for number in 0..500 {
        let stream = 2 * number + 1;
        burst.extend(request(stream));
        burst.extend(frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes()));
    }
    // It may be cut off before all is sent.
    let _ = raw.send(&burst).await;
    let goodbye = raw.until(GOAWAY).await;
    assert_eq!(goodbye.error_code(), ENHANCE_YOUR_CALM);
}

/// A header field of a kilobyte, as a block.
fn large_field() -> Vec<u8> {
    // A new name of one letter; a value of 1,000 bytes.
    let mut block = b"\x00\x01a\x7f\xe9\x06".to_vec();
    block.extend([b'x'; 1_000]);
    block
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_off() {
    let tls = Tls::new(&["h2"]);
    let edge = Edge::serve(answering(10), over(&tls));
    let mut raw = Raw::open(&tls, &edge, &[]).await;
    raw.send(&frame(HEADERS, END_STREAM, 1, GET)).await.unwrap();
    let flooding = async {
        let more = frame(CONTINUATION, 0, 1, &large_field());
        while raw.send(&more).await.is_ok() {}
    };
    in_time(flooding).await;
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let tls = Tls::new(&["h2"]);
    let edge = Edge::serve(answering(10), over(&tls));
    let mut raw = Raw::open(&tls, &edge, &[]).await;
    let mut head = GET.to_vec();
    for _ in 0..16 {
        head.extend(large_field());
    }
    let flags = END_STREAM | END_HEADERS;
    raw.send(&frame(HEADERS, flags, 1, &head[..]))
        .await
        .unwrap();
    let answer = raw.until(HEADERS).await;
    // The name is the eighth of the table that both sides know; the value is 431, packed.
    assert!(
        answer.payload.starts_with(b"\x48\x83\x69\x90\xff"),
        "{:x?}",
        answer.payload
    );
}

/// Each head takes memory for as long as its body does not come. Nobody else is kept out.
#[test]
fn requests_that_wait_for_their_bodies_are_bounded() {
    tell(Engine::Sqlite, async |app| {
        let dev = app.developer().await;
        let tls = Tls::new(BOTH);
        let edge = Edge::serve(legwork::pages::router(&app.app, false), over(&tls));
        let (client, _) = client(&tls, &edge).await;
        let (mut answers, mut bodies) = (Vec::new(), Vec::new());
        for _ in 0..60 {
            let head = Request::post("https://localhost/v1/workers/sessions")
                .header("content-length", "200000")
                .header("x", "x".repeat(12_000));
            let mut ready = client.clone().ready().await.unwrap();
            let (answer, body) = ready.send_request(head.body(()).unwrap(), false).unwrap();
            answers.push(answer);
            bodies.push(body);
        }
        let (refused, _, _waiting) = in_time(select_all(answers)).await;
        assert_eq!(refused.unwrap().status(), 429);
        let key = format!("Bearer {}", dev.test_key);
        let create = Request::post("https://localhost/v1/tasks").header("authorization", key);
        let mut task = storefront().to_string();
        task.push_str(&" ".repeat(60_000));
        let created = send(&client, create.body(()).unwrap(), &task).await;
        assert_eq!(created.unwrap().status, 201);
    });
}
