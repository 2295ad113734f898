//! The body of a response, handed over piece by piece, so that it shows when the client takes none.
//!
//! In HTTP/2 a client says how much it is ready to take. A connection accepts a piece as soon as
//! there is room for its first byte, and accepts the next only when there is room for all of it and
//! one byte more. So the last byte of a body is a piece of its own: once it is accepted, nothing of
//! the body waits for the client any more, and what remains is up to the write time-out of the
//! socket.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::Instant;

/// As large as a frame.
const MAX_PIECE: usize = 16 * 1024;

tokio::task_local! {
    /// Since when a piece has been waiting for the client, as far as we know. Not set while we wait
    /// for the body's own next piece.
    pub static UNCONFIRMED: Cell<Option<Instant>>;
}

pub struct PacedBody {
    inner: Body,
    /// What is left of the frame that came last.
    rest: Bytes,
}

impl PacedBody {
    pub fn new(inner: Body) -> Self {
        let rest = Bytes::new();
        Self { inner, rest }
    }

    fn next_piece(&mut self) -> Bytes {
        let last_byte_apart = self.rest.len().saturating_sub(1).clamp(1, MAX_PIECE);
        self.rest.split_to(last_byte_apart)
    }
}

fn note(since: Option<Instant>) {
    // A body may be read outside of a stream, where nobody asks.
    let _ = UNCONFIRMED.try_with(|unconfirmed| unconfirmed.set(since));
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        while self.rest.is_empty() {
            let polled = Pin::new(&mut self.inner).poll_frame(cx);
            let Poll::Ready(Some(Ok(frame))) = polled else {
                note(None);
                return polled;
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        note(Some(Instant::now()));
        Poll::Ready(Some(Ok(Frame::data(self.next_piece()))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.rest.is_empty() {
            self.inner.size_hint()
        } else {
            SizeHint::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    /// The lengths of the pieces of a body.
    fn pieces(length: usize) -> Vec<usize> {
        let whole: Vec<u8> = (0..length).map(|n| n as u8).collect();
        let mut body = PacedBody::new(Body::from(whole.clone()));
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let (mut lengths, mut read) = (Vec::new(), Vec::new());
            while let Some(frame) = body.frame().await {
                let data = frame.unwrap().into_data().unwrap();
                lengths.push(data.len());
                read.extend_from_slice(&data);
            }
            assert!(body.is_end_stream());
            assert_eq!(read, whole);
            lengths
        })
    }

    #[test]
    fn the_last_byte_is_a_piece_of_its_own() {
        assert!(pieces(0).is_empty());
        assert_eq!(pieces(1), [1]);
        assert_eq!(pieces(2), [1, 1]);
        assert_eq!(pieces(300), [299, 1]);
        assert_eq!(pieces(MAX_PIECE + 1), [MAX_PIECE, 1]);
        assert_eq!(pieces(MAX_PIECE + 2), [MAX_PIECE, 1, 1]);
        assert_eq!(pieces(2 * MAX_PIECE), [MAX_PIECE, MAX_PIECE - 1, 1]);
    }
}
