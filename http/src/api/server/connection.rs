//! One connection, from the handshake to the end.

use std::sync::Arc;

use rustls::ServerConfig;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::handler::Handler;
use super::stream::Stream;
use super::timeouts::Timeouts;
use super::{http1, http2};
use crate::shutdown::Shutdown;

/// What a client may say before the handshake is over, which is held until then. Few say more than 2 KB.
const MAX_HANDSHAKE: usize = 16 * 1024;

/// The protocol names by which a client chooses, once it speaks TLS.
const HTTP2: &[u8] = b"h2";
/// A certificate authority looks at the certificate, and at nothing else (RFC 8737).
const ACME: &[u8] = b"acme-tls/1";

pub async fn serve(
    stream: TcpStream,
    handler: Handler,
    tls: Option<Arc<ServerConfig>>,
    shutdown: &Shutdown,
    timeouts: Timeouts,
) {
    let _ = stream.set_nodelay(true);
    let stream = Stream::new(stream, timeouts.write);
    match tls {
        None => http1::serve(stream, handler, shutdown, timeouts).await,
        // In a box of its own, since its state is large.
        Some(config) => {
            Box::pin(over_tls(stream, handler, config, shutdown, timeouts)).await;
        }
    }
}

async fn over_tls(
    mut stream: Stream,
    handler: Handler,
    config: Arc<ServerConfig>,
    shutdown: &Shutdown,
    timeouts: Timeouts,
) {
    stream.limit_reading(Some(MAX_HANDSHAKE));
    let handshake = TlsAcceptor::from(config).accept(stream);
    let accepted = tokio::select! {
        accepted = tokio::time::timeout(timeouts.handshake, handshake) => accepted,
        () = shutdown.started() => return,
    };
    let mut stream = match accepted {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(peer = %handler.peer, %error, "no TLS handshake");
            return;
        }
        Err(_) => return,
    };
    stream.get_mut().0.limit_reading(None);
    match stream.get_ref().1.alpn_protocol() {
        Some(HTTP2) => http2::serve(stream, handler, shutdown, timeouts).await,
        Some(ACME) => {
            let _ = stream.shutdown().await;
        }
        _ => http1::serve(stream, handler, shutdown, timeouts).await,
    }
}
