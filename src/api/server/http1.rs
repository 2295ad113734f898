//! HTTP/1.1 on one connection.

use std::future::poll_fn;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::handler::Handler;
use super::timeouts::Timeouts;
use crate::shutdown::Shutdown;

/// What a connection holds of what it reads: many uploads at once must not add up.
const MAX_BUFFER: usize = 64 * 1024;

pub async fn serve<I>(stream: I, handler: Handler, shutdown: &Shutdown, timeouts: Timeouts)
where
    I: AsyncRead + AsyncWrite + Unpin,
{
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

/// hyper closes such a connection without a word; the sender deserves one.
const HEAD_TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
