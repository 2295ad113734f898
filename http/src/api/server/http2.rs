//! HTTP/2 on one connection.

mod body;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::http::{Request, Response};
use body::{PacedBody, UNCONFIRMED};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::sleep;

use super::handler::Handler;
use super::timeouts::Timeouts;
use crate::shutdown::Shutdown;

/// Requests of a connection that may be in flight at once.
const MAX_STREAMS: u32 = 100;
/// The head of a request, unpacked.
const MAX_HEAD: u32 = 16 * 1024;
/// What a client may send before it is read: for one request, and for all of a connection.
const REQUEST_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 512 * 1024;
/// What is kept of a response until the client takes it.
const MAX_SEND_BUFFER: usize = 64 * 1024;
/// A client may cancel so many requests before we have seen them, and err so often: a client that
/// opens and cancels requests as fast as it can is cut off.
const MAX_CANCELLED_UNSEEN: usize = 20;
const MAX_ERRORS: usize = 100;

/// Serves until the client leaves, the connection is idle for long, or shutdown.
pub async fn serve<I>(stream: I, handler: Handler, shutdown: &Shutdown, timeouts: Timeouts)
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    let streams = Streams::new(timeouts.write);
    let connection = http2::Builder::new(streams.clone())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD)
        .initial_stream_window_size(REQUEST_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(MAX_SEND_BUFFER)
        .max_pending_accept_reset_streams(MAX_CANCELLED_UNSEEN)
        .max_local_error_reset_streams(MAX_ERRORS)
        .keep_alive_interval(timeouts.head)
        .keep_alive_timeout(timeouts.write)
        .serve_connection(TokioIo::new(stream), Paced::new(handler));
    let mut connection = pin!(connection);
    tokio::select! {
        _ = &mut connection => return,
        () = shutdown.started() => {}
        () = streams.idle_for(timeouts.head) => {}
    }
    // The client is told to send no more requests. Those in flight are served to the end.
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ = &mut connection => {}
        () = streams.idle_for(timeouts.write) => {}
    }
}

/// Answers with bodies that are handed over piece by piece.
struct Paced {
    handler: Handler,
    first: FirstToWait,
}

impl Paced {
    fn new(handler: Handler) -> Self {
        Self {
            handler,
            first: FirstToWait::default(),
        }
    }
}

impl Service<Request<Incoming>> for Paced {
    type Response = Response<PacedBody>;
    type Error = <Handler as Service<Request<Incoming>>>::Error;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Response<PacedBody>, Self::Error>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.first.clone());
        let answer = self.handler.call(request);
        Box::pin(async move { Ok(answer.await?.map(PacedBody::new)) })
    }
}

/// On every request of a connection. A connection is expected to hold one request that waits for its body, as one with
/// HTTP/1.1 does. Those that wait beside it are held against whoever sent them.
#[derive(Clone, Debug)]
pub struct FirstToWait(Arc<Semaphore>);

impl FirstToWait {
    /// None if another request of the connection waits.
    pub fn take(&self) -> Option<OwnedSemaphorePermit> {
        self.0.clone().try_acquire_owned().ok()
    }
}

impl Default for FirstToWait {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// The streams of a connection: one for each request in flight.
#[derive(Clone)]
struct Streams {
    /// How many there are.
    open: watch::Sender<usize>,
    patience: Duration,
}

impl Streams {
    fn new(patience: Duration) -> Self {
        Self {
            open: watch::Sender::new(0),
            patience,
        }
    }

    /// Resolves when there has been no stream for this long.
    async fn idle_for(&self, long: Duration) {
        let mut open = self.open.subscribe();
        loop {
            // `self` keeps the sender alive, so waiting cannot fail.
            let _ = open.wait_for(|streams| *streams == 0).await;
            tokio::select! {
                _ = open.changed() => {}
                () = sleep(long) => return,
            }
        }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let open = OpenStream::new(self.open.clone());
        let serving = UNCONFIRMED.scope(Default::default(), while_taken(stream, self.patience));
        tokio::spawn(async move {
            serving.await;
            drop(open);
        });
    }
}

/// Runs a stream until it ends, or until the client has not taken a piece of the response for so
/// long. Dropping the stream resets it.
async fn while_taken(stream: impl Future<Output = ()>, patience: Duration) {
    let mut stream = pin!(stream);
    let mut timer = pin!(sleep(patience));
    poll_fn(|cx| {
        if stream.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        match UNCONFIRMED.with(|since| since.get()) {
            None => Poll::Pending,
            Some(since) => {
                if timer.deadline() != since + patience {
                    timer.as_mut().reset(since + patience);
                }
                timer.as_mut().poll(cx)
            }
        }
    })
    .await;
}

/// Counts a stream as long as it is there.
struct OpenStream(watch::Sender<usize>);

impl OpenStream {
    fn new(open: watch::Sender<usize>) -> Self {
        open.send_modify(|streams| *streams += 1);
        Self(open)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.send_modify(|streams| *streams -= 1);
    }
}
