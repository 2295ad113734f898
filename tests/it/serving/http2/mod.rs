//! TLS and HTTP/2: the same service, with the same limits.

mod attacks;
mod frames;
mod handshakes;

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Version};
use axum::routing::get;
use futures_util::stream;
use h2::client::SendRequest;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::{Edge, Engine, SOON, Tls, in_time, storefront, tell};
use frames::over;

const BOTH: &[&str] = &["h2", "http/1.1"];

/// A client as a library makes it, and the end of its connection.
async fn client(tls: &Tls, edge: &Edge) -> (SendRequest<Bytes>, JoinHandle<Result<(), h2::Error>>) {
    let stream = tls.connect(edge.address, BOTH).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    (client, tokio::spawn(connection))
}

struct Reply {
    status: u16,
    version: Version,
    body: Vec<u8>,
}

async fn send(
    client: &SendRequest<Bytes>,
    request: Request<()>,
    body: &str,
) -> Result<Reply, h2::Error> {
    let mut client = client.clone().ready().await?;
    let (response, mut sending) = client.send_request(request, body.is_empty())?;
    if !body.is_empty() {
        sending.send_data(Bytes::copy_from_slice(body.as_bytes()), true)?;
    }
    let response = in_time(response).await?;
    let (status, version) = (response.status().as_u16(), response.version());
    let (mut incoming, mut body) = (response.into_body(), Vec::new());
    while let Some(data) = in_time(incoming.data()).await {
        let data = data?;
        incoming.flow_control().release_capacity(data.len())?;
        body.extend_from_slice(&data);
    }
    Ok(Reply {
        status,
        version,
        body,
    })
}

fn get_request(path: &str) -> Request<()> {
    Request::get(format!("https://localhost{path}"))
        .body(())
        .unwrap()
}

#[test]
fn the_service_speaks_http_2() {
    tell(Engine::Sqlite, async |app| {
        let tls = Tls::new(BOTH);
        let edge = Edge::serve(legwork::pages::router(&app.app, false), over(&tls));
        let (client, _) = client(&tls, &edge).await;
        let reply = send(&client, get_request("/openapi.json"), "")
            .await
            .unwrap();
        assert_eq!((reply.status, reply.version), (200, Version::HTTP_2));
        let described = app.client().get("/openapi.json").await.text;
        assert_eq!(reply.body, described.as_bytes());
        let dev = app.developer().await;
        let key = format!("Bearer {}", dev.test_key);
        let create = Request::post("https://localhost/v1/tasks").header("authorization", key);
        let create = create.body(()).unwrap();
        let reply = send(&client, create, &storefront().to_string())
            .await
            .unwrap();
        assert_eq!(reply.status, 201);
    });
}

#[test]
fn a_request_names_one_host() {
    tell(Engine::Sqlite, async |app| {
        let tls = Tls::new(BOTH);
        let edge = Edge::serve(legwork::pages::router(&app.app, false), over(&tls));
        let (client, _) = client(&tls, &edge).await;
        for (hosts, status) in [
            (vec![], 200),
            (vec!["localhost"], 200),
            (vec!["elsewhere"], 400),
            (vec!["localhost", "localhost"], 400),
        ] {
            let mut request = Request::get("https://localhost/healthz");
            for host in &hosts {
                request = request.header("host", *host);
            }
            let reply = send(&client, request.body(()).unwrap(), "").await;
            assert_eq!(reply.unwrap().status, status, "{hosts:?}");
        }
    });
}

#[tokio::test]
async fn a_large_response_reaches_a_client_that_takes_it() {
    let large: Bytes = (0..3_000_001_u32).map(|n| n as u8).collect();
    let sent = large.clone();
    let router = Router::new().route("/", get(move || async move { sent }));
    let tls = Tls::new(BOTH);
    let edge = Edge::serve(router, over(&tls));
    let (client, _) = client(&tls, &edge).await;
    let reply = send(&client, get_request("/"), "").await.unwrap();
    assert_eq!(reply.body, large);
}

/// Silence of ours is not the client's.
#[tokio::test]
async fn a_slow_stream_that_is_read_goes_on() {
    let slow = async || {
        let events = stream::unfold(0, async |sent| {
            tokio::time::sleep(Duration::from_millis(500)).await;
            (sent < 2).then(|| (Ok::<_, Infallible>(Bytes::from("event\n")), sent + 1))
        });
        Body::from_stream(events)
    };
    let tls = Tls::new(BOTH);
    let edge = Edge::serve(Router::new().route("/", get(slow)), |serving| {
        serving.timeouts.write = SOON;
        over(&tls)(serving);
    });
    let (client, _) = client(&tls, &edge).await;
    let reply = send(&client, get_request("/"), "").await.unwrap();
    assert_eq!(reply.body, b"event\nevent\n");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let router = Router::new().route("/", get(async || "hello\n"));
    let tls = Tls::new(BOTH);
    let edge = Edge::serve(router, |serving| {
        serving.timeouts.head = SOON;
        over(&tls)(serving);
    });
    let (client, connection) = client(&tls, &edge).await;
    assert_eq!(
        send(&client, get_request("/"), "").await.unwrap().status,
        200
    );
    in_time(connection).await.unwrap().unwrap();
}

#[tokio::test]
async fn requests_in_flight_finish_when_the_service_stops() {
    let (go_on, waiting) = watch::channel(false);
    let wait = move || {
        let mut waiting = waiting.clone();
        async move {
            waiting.wait_for(|go_on| *go_on).await.unwrap();
            "done\n"
        }
    };
    let tls = Tls::new(BOTH);
    let mut edge = Edge::serve(Router::new().route("/", get(wait)), over(&tls));
    let (client, connection) = client(&tls, &edge).await;
    let asking = tokio::spawn(async move { send(&client, get_request("/"), "").await });
    let arrived = async {
        while go_on.receiver_count() < 2 {
            tokio::task::yield_now().await
        }
    };
    in_time(arrived).await;
    edge.shutdown.start();
    go_on.send_replace(true);
    assert_eq!(in_time(asking).await.unwrap().unwrap().body, b"done\n");
    in_time(connection).await.unwrap().unwrap();
    in_time(&mut edge.stopped).await.unwrap();
}
