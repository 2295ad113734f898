//! HTTP/1.1 on one connection.

use std::future::poll_fn;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

use super::handler::Handler;
use super::timeouts::Timeouts;
use crate::shutdown::Shutdown;

/// What a connection holds of what it reads: the head of a request, and a piece of an upload. Many at once must
/// not add up.
const MAX_BUFFER: usize = 16 * 1024;

pub async fn serve<I>(stream: I, handler: Handler, shutdown: &Shutdown, timeouts: Timeouts)
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    let asked = handler.asked.clone();
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.head)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(TokioIo::new(stream), handler);
    let served = tokio::select! {
        served = poll_fn(|cx| connection.poll_without_shutdown(cx)) => served,
        () = last_call(shutdown, &asked) => {
            std::pin::Pin::new(&mut connection).graceful_shutdown();
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

/// Waits until the service stops. A connection that was never used is then about to be: whoever made
/// it has sent a request, which is on its way. A proxy would not repeat a POST that was cut off.
async fn last_call(shutdown: &Shutdown, asked: &Notify) {
    shutdown.started().await;
    let _ = tokio::time::timeout(FIRST_REQUEST, asked.notified()).await;
}

/// How long to wait for it.
const FIRST_REQUEST: Duration = Duration::from_secs(1);

/// hyper closes such a connection without a word; the sender deserves one.
const HEAD_TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
