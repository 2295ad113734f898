//! Connections: how many there may be, and how long a client may keep one without using it.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use axum::routing::get;
use futures_util::stream;
use http_body_util::BodyExt;
use legwork::api::{self, ConnectionLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tower_service::Service;

use crate::support::{Edge, Engine, SOON, endless, exchange, in_time, tell};

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

fn small() -> Router {
    Router::new().route("/", get(async || "hello\n"))
}

/// Connects from an address of this machine.
async fn connect_from(source: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((IpAddr::from(source), 0).into()).unwrap();
    in_time(socket.connect(to)).await.unwrap()
}

/// The status line of the answer to a request on an open connection.
async fn ask(connection: &mut TcpStream) -> String {
    // A connection that is refused may be closed already.
    let _ = connection.write_all(GET).await;
    let mut answer = vec![0; 1024];
    let read = in_time(connection.read(&mut answer)).await.unwrap_or(0);
    let answer = String::from_utf8_lossy(&answer[..read]);
    answer.lines().next().unwrap_or_default().to_owned()
}

const SERVED: &str = "HTTP/1.1 200 OK";
const REFUSED: &str = "HTTP/1.1 503 Service Unavailable";

#[tokio::test]
async fn who_does_not_read_is_cut_off() {
    let large = Bytes::from(vec![b'x'; 1024 * 1024]);
    let router = Router::new().route("/", get(move || async move { large }));
    let edge = Edge::serve(router, |serving| serving.timeouts.write = SOON);
    let mut connection = TcpStream::connect(edge.address).await.unwrap();
    // The requests fill every buffer on the way, unless the connection is closed.
    let asking = async { while connection.write_all(GET).await.is_ok() {} };
    in_time(asking).await;
}

#[tokio::test]
async fn a_stream_that_nobody_reads_is_closed() {
    let (router, closed) = endless();
    let edge = Edge::serve(router, |serving| serving.timeouts.write = SOON);
    let mut connection = TcpStream::connect(edge.address).await.unwrap();
    connection.write_all(GET).await.unwrap();
    let gone = in_time(closed).await;
    assert!(gone.is_err(), "the stream is dropped, and nothing is sent");
}

#[tokio::test]
async fn a_slow_stream_that_is_read_goes_on() {
    const HEARTBEATS: usize = 6;
    let heartbeats = async || {
        let beats = stream::unfold(0, async |sent| {
            tokio::time::sleep(Duration::from_millis(100)).await;
            (sent < HEARTBEATS).then(|| (Ok::<_, Infallible>(Bytes::from(":\n\n")), sent + 1))
        });
        Body::from_stream(beats)
    };
    let router = Router::new().route("/", get(heartbeats));
    let edge = Edge::serve(router, |serving| serving.timeouts.write = SOON);
    let request = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answer = in_time(exchange(edge.address, request)).await;
    assert_eq!(answer.matches(":\n\n").count(), HEARTBEATS, "{answer}");
    assert!(answer.ends_with("\r\n0\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn one_address_cannot_take_every_connection() {
    let limits = ConnectionLimits::new(16, Vec::new());
    let edge = Edge::serve(small(), |serving| serving.limits = limits);
    let mut open = Vec::new();
    for _ in 0..4 {
        let mut connection = connect_from([127, 0, 0, 1], edge.address).await;
        assert_eq!(ask(&mut connection).await, SERVED);
        open.push(connection);
    }
    let answer = in_time(exchange(edge.address, GET)).await;
    assert!(answer.starts_with(REFUSED), "{answer}");
    assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
    assert!(answer.contains("\"code\":\"UNAVAILABLE\""), "{answer}");
    let mut other = connect_from([127, 0, 0, 2], edge.address).await;
    assert_eq!(ask(&mut other).await, SERVED);
    open.pop();
    let freed = async {
        while ask(&mut connect_from([127, 0, 0, 1], edge.address).await).await != SERVED {}
    };
    in_time(freed).await;
}

#[tokio::test]
async fn trusted_proxies_share_all_connections() {
    let limits = ConnectionLimits::new(16, vec!["127.0.0.0/8".parse().unwrap()]);
    let edge = Edge::serve(small(), |serving| serving.limits = limits);
    let mut open = Vec::new();
    for _ in 0..16 {
        let mut connection = TcpStream::connect(edge.address).await.unwrap();
        assert_eq!(ask(&mut connection).await, SERVED);
        open.push(connection);
    }
    let mut beyond = connect_from([127, 0, 0, 2], edge.address).await;
    assert_eq!(ask(&mut beyond).await, REFUSED);
    for connection in &mut open {
        assert_eq!(ask(connection).await, SERVED);
    }
}

#[tokio::test]
async fn who_is_refused_and_stays_holds_nothing_for_long() {
    let limits = ConnectionLimits::new(4, Vec::new());
    let edge = Edge::serve(small(), |serving| serving.limits = limits);
    let mut served = TcpStream::connect(edge.address).await.unwrap();
    assert_eq!(ask(&mut served).await, SERVED);
    // More than are told at once; none of them reads, or closes.
    let mut refused = Vec::new();
    for _ in 0..100 {
        refused.push(TcpStream::connect(edge.address).await);
    }
    // Some may be reset before they know that they were connected.
    for mut connection in refused.into_iter().flatten() {
        let mut answer = Vec::new();
        let _ = in_time(connection.read_to_end(&mut answer)).await;
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.is_empty() || answer.starts_with(REFUSED), "{answer}");
    }
    assert_eq!(ask(&mut served).await, SERVED);
}

#[tokio::test]
async fn many_connections_can_wait_to_be_accepted() {
    let listener = api::listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    // The kernel drops what is beyond the backlog.
    for _ in 0..600 {
        waiting.push(in_time(TcpStream::connect(address)).await.unwrap());
    }
    assert_eq!(waiting.len(), 600);
}

#[test]
fn a_request_names_one_host() {
    tell(Engine::Sqlite, async |app| {
        for hosts in ["", "host:\r\n", "host: x\r\nhost: x\r\n", "host: a@b\r\n"] {
            let request = format!("GET /healthz HTTP/1.1\r\n{hosts}connection: close\r\n\r\n");
            let answer = exchange(app.address, request.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{hosts:?}: {answer}");
            assert!(answer.contains("\"field\":\"Host\""), "{hosts:?}: {answer}");
            assert!(answer.contains("\r\nx-request-id: "), "{hosts:?}: {answer}");
        }
        let old = exchange(app.address, b"GET /healthz HTTP/1.0\r\n\r\n").await;
        assert!(old.starts_with("HTTP/1.0 200 "), "{old}");
    });
}

#[test]
fn the_description_is_in_memory_once() {
    tell(Engine::Sqlite, async |app| {
        let mut router = legwork::pages::router(&app.app, false);
        let mut copies = Vec::new();
        for _ in 0..2 {
            let request = Request::get("/openapi.json").header("host", "x");
            let request = request.body(Body::empty()).unwrap();
            let response = router.call(request).await.unwrap();
            assert_eq!(response.headers()["content-type"], "application/json");
            copies.push(response.into_body().collect().await.unwrap().to_bytes());
        }
        assert_eq!(copies[0].as_ptr(), copies[1].as_ptr());
        assert!(copies[0].len() > 100_000);
    });
}

#[test]
fn open_connections_and_streams_are_counted() {
    tell(Engine::Sqlite, async |app| {
        let dev = app.developer().await;
        let mut stream = TcpStream::connect(app.address).await.unwrap();
        let request = format!(
            "GET /v1/events/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
            dev.test_key
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        in_time(stream.read_u8()).await.unwrap();
        let metrics = app.client().get("/metrics").await.text;
        for name in [
            "legwork_connections_open{transport=\"plain\"}",
            "legwork_streams_open",
        ] {
            let line = metrics.lines().find(|line| line.starts_with(name));
            let count: f64 = line.expect(name)[name.len()..].trim().parse().unwrap();
            assert!(count >= 1.0, "{name}: {count}");
        }
    });
}

#[tokio::test]
async fn a_request_on_its_way_when_the_server_stops_is_answered() {
    let edge = Edge::serve(small(), |_| {});
    let mut connection = connect_from([127, 0, 0, 1], edge.address).await;
    edge.shutdown.start();
    assert_eq!(ask(&mut connection).await, SERVED);
}
