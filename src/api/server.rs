//! Connections: accepted, bounded in time, and finished properly when the service stops.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower_service::Service;

use crate::shutdown::Shutdown;

/// How long others may take, so that slow ones cannot hold connections for ever.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// A request's head must have arrived by then; an idle connection is closed as well.
    pub head: Duration,
    /// All of a JSON body must have arrived by then.
    pub body: Duration,
    /// How long a request waits for the database, all its transactions together.
    pub request: Duration,
    /// How long a request waits for the payment processor.
    pub processor: Duration,
    /// How often a stream of events sends something even when nothing happens, since proxies close
    /// what is silent; and how often it checks its key, since one that was revoked must not go on.
    pub heartbeat: Duration,
    /// How long requests in flight may take once the service is asked to stop.
    pub grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(15),
            body: Duration::from_secs(20),
            request: Duration::from_secs(10),
            processor: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(18),
        }
    }
}

/// What a connection holds of what it reads: many uploads at once must not add up.
const MAX_BUFFER: usize = 64 * 1024;

/// Serves until shutdown, then waits for the requests in flight.
pub async fn serve(listener: TcpListener, router: Router, shutdown: Shutdown, timeouts: Timeouts) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let handler = Handler { router: router.clone(), peer };
                    let serving = connection(stream, handler, shutdown.clone(), timeouts);
                    connections.spawn(serving);
                }
                Err(error) => {
                    // Out of file descriptors, mostly: give the open connections time to end.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = shutdown.started() => break,
        }
    }
    drop(listener);
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(timeouts.grace, finished)
        .await
        .is_err()
    {
        tracing::warn!(left = connections.len(), "gave up waiting for requests");
    }
}

async fn connection(stream: TcpStream, handler: Handler, shutdown: Shutdown, timeouts: Timeouts) {
    let _ = stream.set_nodelay(true);
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.head)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(TokioIo::new(stream), handler);
    let stopping = shutdown.started();
    tokio::pin!(stopping);
    let served = tokio::select! {
        served = poll_fn(|cx| connection.poll_without_shutdown(cx)) => served,
        () = &mut stopping => {
            Pin::new(&mut connection).graceful_shutdown();
            poll_fn(|cx| connection.poll_without_shutdown(cx)).await
        }
    };
    let parts = connection.into_parts();
    let mut stream = parts.io.into_inner();
    let half_sent = served.is_err_and(|error| error.is_timeout()) && !parts.read_buf.is_empty();
    if half_sent {
        let _ = stream.write_all(HEAD_TIMED_OUT).await;
    }
    let _ = stream.shutdown().await;
}

/// hyper closes such a connection without a word; the sender deserves one.
const HEAD_TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// The router as hyper wants it. Its futures are boxed so that the connection can be polled by hand.
struct Handler {
    router: Router,
    peer: SocketAddr,
}

/// Who is at the other end of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

impl hyper::service::Service<Request<Incoming>> for Handler {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut router = self.router.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(self.peer));
        Box::pin(async move { router.call(request).await })
    }
}
