//! Reads request bodies: bounded in size and time.

pub mod late;
pub mod room;

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, header};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::body::Frame;
use room::Holding;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::fields::{self, RequestBody};
use crate::api::request::json;
use crate::api::server::Timeouts;

/// JSON bodies may be this large.
pub const MAX_JSON_BYTES: usize = 256 * 1024;
/// How much of a refused body is read, so that the sender can read the response.
const MAX_DRAINED_BYTES: usize = 8 * 1024 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// So much of a body is collected without asking: nearly all bodies are smaller, so those who send
/// slow large ones cannot keep out the others.
const FREE_BYTES: usize = 16 * 1024;
/// How many bodies are waited for to be dropped at the same time. Each holds what its connection has read, so there must
/// not be any number of them.
const DRAINED: usize = 128;

static DRAINS: Semaphore = Semaphore::const_new(DRAINED);

pub async fn read(request: &Extensions, body: Body, timeouts: Timeouts) -> Result<Bytes, ApiError> {
    read_at_most(request, body, MAX_JSON_BYTES, timeouts.body).await
}

/// The same with bounds of its own, for what is not JSON.
pub async fn read_at_most(
    request: &Extensions,
    body: Body,
    limit: usize,
    within: Duration,
) -> Result<Bytes, ApiError> {
    tokio::time::timeout(within, read_bounded(request, body, limit))
        .await
        .unwrap_or(Err(ApiError::BodyTimeout))
}

/// The same for a body that somebody sends who was let in before it came.
pub async fn received(request: &Extensions, body: Body, app: &App) -> Result<Bytes, ApiError> {
    let bytes = read(request, body, app.timeouts).await?;
    late::check(app, request).await?;
    Ok(bytes)
}

/// Reads the JSON body of a request that takes no Idempotency-Key.
pub async fn json<B: RequestBody>(request: Request, app: &App) -> Result<B, ApiError> {
    let (parts, body) = request.into_parts();
    parse(&received(&parts.extensions, body, app).await?)
}

/// The same for a PATCH, which needs a body: without one it would change nothing.
pub async fn required_json<B: RequestBody>(request: Request, app: &App) -> Result<B, ApiError> {
    fields::read(&required_object(request, app).await?)
}

pub async fn required_object(request: Request, app: &App) -> Result<Map<String, Value>, ApiError> {
    let (parts, body) = request.into_parts();
    let bytes = received(&parts.extensions, body, app).await?;
    if bytes.is_empty() {
        return Err(ApiError::invalid(json::BODY, "is required"));
    }
    json::object(&bytes).map_err(ApiError::Validation)
}

/// Reads a JSON body that has arrived.
pub fn parse<B: RequestBody>(bytes: &[u8]) -> Result<B, ApiError> {
    let object = json::object(bytes).map_err(ApiError::Validation)?;
    fields::read(&object)
}

/// Copies what comes into one piece. A frame that was kept would keep alive the whole buffer that it was read into,
/// however small the frame is.
async fn read_bounded(
    request: &Extensions,
    mut body: Body,
    limit: usize,
) -> Result<Bytes, ApiError> {
    let announced = body
        .size_hint()
        .exact()
        .and_then(|size| usize::try_from(size).ok());
    let mut collected = Vec::new();
    let mut holding = Holding::of(request);
    while let Some(frame) = next(&mut body, &mut holding).await? {
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if collected.len() + data.len() > limit {
            drop((collected, holding));
            drain(body).await;
            return Err(ApiError::BodyTooLarge { limit });
        }
        let needed = collected.len() + data.len();
        if collected.capacity() == 0 {
            collected.reserve_exact(announced.unwrap_or(0).min(FREE_BYTES));
        }
        if needed > collected.capacity().max(FREE_BYTES) {
            // Only what has come counts: whoever announces much and sends little holds little.
            let size = announced.unwrap_or(limit).min(2 * needed);
            let size = size.clamp(needed, limit);
            let held_bytes = collected.capacity().max(FREE_BYTES);
            if let Err(error) = holding.add(size - held_bytes).await {
                // What is dropped needs no room.
                drop((collected, holding));
                drain(body).await;
                return Err(error);
            }
            collected.reserve_exact(size - collected.len());
        }
        collected.extend_from_slice(&data);
    }
    Ok(collected.into())
}

/// The next piece of a body. One that is not here yet has to be waited for. Whoever may not wait hears it also if nothing
/// more is read: with HTTP/2, an answer may come before the end of a body.
async fn next(
    body: &mut Body,
    holding: &mut Holding<'_>,
) -> Result<Option<Frame<Bytes>>, ApiError> {
    let frame = match body.frame().now_or_never() {
        Some(frame) => frame,
        None => {
            holding.wait().await?;
            body.frame().await
        }
    };
    let frame = frame.transpose();
    frame.map_err(|_| ApiError::invalid(json::BODY, "was cut off"))
}

/// Reads and drops what a refused request still sends, within bounds.
pub async fn drain(mut body: Body) {
    let mut left = MAX_DRAINED_BYTES;
    // What is here already costs no waiting.
    while let Some(frame) = body.frame().now_or_never() {
        if !goes_on(frame, &mut left) {
            return;
        }
    }
    let Ok(_drain) = DRAINS.try_acquire() else {
        return;
    };
    let reading = async { while goes_on(body.frame().await, &mut left) {} };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, reading).await;
}

/// Whether there may be more to read, and it is not too much.
fn goes_on(frame: Option<Result<Frame<Bytes>, axum::Error>>, left: &mut usize) -> bool {
    let Some(Ok(frame)) = frame else {
        return false;
    };
    let rest = left.checked_sub(frame.data_ref().map_or(0, Bytes::len));
    *left = rest.unwrap_or(0);
    rest.is_some()
}

/// Answers without using the body, but reads it: a sender that is cut off while it still writes
/// would never read the response.
pub async fn refuse(error: ApiError, request: Request) -> ApiError {
    if is_being_sent(request.headers()) {
        drain(request.into_body()).await;
    }
    error
}

/// A sender that waits for "100 Continue" does not send its body.
fn is_being_sent(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::EXPECT)
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll};

    use hyper::body::SizeHint;

    use super::room::tests::extensions;
    use super::*;

    #[tokio::test]
    async fn large_bodies_share_a_room_and_small_ones_need_none() {
        let (request, free) = extensions(2 * FREE_BYTES);
        let body = |kilobytes: usize| Body::from(vec![b'x'; kilobytes * 1024]);
        // Exactly as much as there is.
        let large = read_bounded(&request, body(48), MAX_JSON_BYTES).await;
        assert_eq!(large.map(|bytes| bytes.len()).ok(), Some(48 * 1024));
        assert_eq!(free(), 2 * FREE_BYTES, "given back");
        let too_large = read_bounded(&request, body(49), MAX_JSON_BYTES).await;
        assert!(matches!(too_large, Err(ApiError::Busy)));
        let mut all = Holding::of(&request);
        all.add(2 * FREE_BYTES).await.unwrap();
        let small = read_bounded(&request, body(16), MAX_JSON_BYTES).await;
        assert!(small.is_ok());
        let larger = read_bounded(&request, body(17), MAX_JSON_BYTES).await;
        assert!(matches!(larger, Err(ApiError::RateLimited { .. })));
    }

    /// Sends once, and then nothing of what it has announced.
    struct Stalling {
        sent: Option<Bytes>,
        announced: u64,
    }

    impl HttpBody for Stalling {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            match self.sent.take() {
                Some(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
                None => Poll::Pending,
            }
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(self.announced)
        }
    }

    #[tokio::test]
    async fn what_is_announced_and_does_not_come_holds_little() {
        let (request, free) = extensions(MAX_JSON_BYTES);
        let sent = FREE_BYTES + 1;
        let body = Body::new(Stalling {
            sent: Some(vec![b'x'; sent].into()),
            announced: MAX_JSON_BYTES as u64,
        });
        let mut reading = Box::pin(read_bounded(&request, body, MAX_JSON_BYTES));
        assert!((&mut reading).now_or_never().is_none());
        let held = MAX_JSON_BYTES - free();
        assert_eq!(held, 2 * sent - FREE_BYTES);
    }

    /// What a connection has read, which lives for as long as a piece of it.
    struct ReadBuffer {
        bytes: [u8; 8],
        alive: Arc<AtomicUsize>,
    }

    impl AsRef<[u8]> for ReadBuffer {
        fn as_ref(&self) -> &[u8] {
            &self.bytes
        }
    }

    impl Drop for ReadBuffer {
        fn drop(&mut self) {
            self.alive.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn small_frames_do_not_keep_the_buffers_they_were_read_into() {
        let (alive, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let frames = {
            let (alive, most) = (alive.clone(), most.clone());
            (0..100).map(move |_| {
                most.fetch_max(alive.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                let (bytes, alive) = ([b'x'; 8], alive.clone());
                let buffer = Bytes::from_owner(ReadBuffer { bytes, alive });
                Ok::<_, std::convert::Infallible>(buffer.slice(..1))
            })
        };
        let body = Body::from_stream(futures_util::stream::iter(frames));
        let none = Extensions::new();
        let read = read_at_most(&none, body, 100, DRAIN_TIMEOUT).await;
        assert_eq!(read.map(|bytes| bytes.len()).ok(), Some(100));
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        assert!(most.load(Ordering::Relaxed) <= 2);
        let too_long = read_at_most(&none, Body::from("ab"), 1, DRAIN_TIMEOUT).await;
        assert!(matches!(too_long, Err(ApiError::BodyTooLarge { limit: 1 })));
    }
}
