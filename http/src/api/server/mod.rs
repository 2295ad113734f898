//! Connections: accepted, bounded in number and time, and finished properly when the service stops.

mod connection;
mod handler;
mod http1;
mod http2;
mod last_key;
mod limits;
mod listen;
mod redirect;
mod refusal;
mod stream;
mod timeouts;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::shutdown::Shutdown;

pub use handler::Peer;
pub use http2::FirstToWait;
pub use last_key::LastKey;
pub use limits::ConnectionLimits;
pub use listen::listen;
pub use redirect::redirect_router;
pub use timeouts::Timeouts;

use handler::Handler;

/// How a listener's connections are served.
#[derive(Clone)]
pub struct Serving {
    pub shutdown: Shutdown,
    pub timeouts: Timeouts,
    pub limits: ConnectionLimits,
    /// Without it, the connections are plain.
    pub tls: Option<Arc<ServerConfig>>,
}

/// Serves until shutdown, then waits for the requests in flight.
pub async fn serve(listener: TcpListener, router: Router, serving: Serving) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => begin(stream, peer, &router, &serving, &mut connections),
                Err(error) => {
                    // Out of file descriptors, mostly: give the open connections time to end.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = serving.shutdown.started() => break,
        }
    }
    for (stream, peer) in waiting(listener) {
        begin(stream, peer, &router, &serving, &mut connections);
    }
    let finished = async { while connections.join_next().await.is_some() {} };
    let grace = serving.timeouts.grace;
    if tokio::time::timeout(grace, finished).await.is_err() {
        tracing::warn!(left = connections.len(), "gave up waiting for requests");
    }
}

/// Serves a connection, or refuses it.
fn begin(
    stream: TcpStream,
    peer: SocketAddr,
    router: &Router,
    serving: &Serving,
    connections: &mut JoinSet<()>,
) {
    let tls = serving.tls.clone();
    let Ok(permit) = serving.limits.admit(peer.ip(), tls.is_some()) else {
        refusal::refuse(stream, &serving.limits, tls.is_some());
        return;
    };
    let handler = Handler::new(router.clone(), peer);
    let (shutdown, timeouts) = (serving.shutdown.clone(), serving.timeouts);
    connections.spawn(async move {
        connection::serve(stream, handler, tls, &shutdown, timeouts).await;
        drop(permit);
    });
}

/// Closes the listener. The kernel has accepted some connections that nobody has taken yet: whoever
/// made them may have sent a request already, so they are not dropped.
fn waiting(listener: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    let mut found = Vec::new();
    let Ok(listener) = listener.into_std() else {
        return found;
    };
    while let Ok((stream, peer)) = listener.accept() {
        let ready = stream.set_nonblocking(true);
        let stream = ready.and_then(|()| TcpStream::from_std(stream));
        found.extend(stream.ok().map(|stream| (stream, peer)));
    }
    found
}
