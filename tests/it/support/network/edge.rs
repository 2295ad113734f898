//! The connection layer alone, in front of a router of the test's choice.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use futures_util::stream;
use legwork::api::{self, ConnectionLimits, Serving, Timeouts};
use legwork::shutdown::Shutdown;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub struct Edge {
    pub address: SocketAddr,
    pub shutdown: Shutdown,
    /// Ends when the server has stopped.
    pub stopped: JoinHandle<()>,
}

/// So short that a test need not wait, where it is meant to be used up.
pub const SOON: Duration = Duration::from_millis(300);
/// So long that it ends only in a test that fails.
pub const LATE: Duration = Duration::from_secs(30);

impl Edge {
    /// Nothing times out unless the test changes that.
    pub fn serve(router: Router, change: impl FnOnce(&mut Serving)) -> Self {
        let shutdown = Shutdown::default();
        let mut serving = Serving {
            shutdown: shutdown.clone(),
            timeouts: Timeouts {
                handshake: LATE,
                head: LATE,
                body: LATE,
                write: LATE,
                request: LATE,
                upload: LATE,
                processor: LATE,
                recheck: LATE,
                heartbeat: LATE,
                grace: LATE,
            },
            limits: ConnectionLimits::new(10_000, Vec::new()),
            tls: None,
        };
        change(&mut serving);
        let listener = api::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        Self {
            address,
            shutdown,
            stopped: tokio::spawn(api::serve(listener, router, serving)),
        }
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.shutdown.start();
    }
}

/// A response that never ends, and the news that it was given up: an error, since nothing is sent.
pub fn endless() -> (Router, oneshot::Receiver<()>) {
    let (alive, closed) = oneshot::channel();
    let alive = Arc::new(Mutex::new(Some(alive)));
    let endless = async move || {
        let alive = alive.lock().unwrap().take();
        let pieces = stream::unfold(alive, async |alive| {
            let piece = Bytes::from(vec![b'x'; 64 * 1024]);
            Some((Ok::<_, Infallible>(piece), alive))
        });
        Body::from_stream(pieces)
    };
    (Router::new().route("/", get(endless)), closed)
}

/// What must come about soon, unless the test fails.
#[track_caller]
pub fn in_time<F: Future>(what: F) -> impl Future<Output = F::Output> {
    let at = std::panic::Location::caller();
    async move {
        let over = tokio::time::timeout(LATE, what).await;
        over.unwrap_or_else(|_| panic!("it never came about: {at}"))
    }
}

/// A port below those that the system hands out by itself, so that nobody else is given it.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = (std::process::id() % 10_000) as u16;
    loop {
        let port = 20_000 + (first + NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
