//! How much memory the answers take that a caller has asked for and not read yet.
//!
//! An answer is in memory until the client has taken it, and the client decides how long that takes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Buf, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api::error::ApiError;
use crate::api::middleware::notes::Who;
use crate::domain::AccountId;
use crate::limits::{Place, Places};

/// From this size on an answer counts. There are many smaller ones, and they are soon gone.
const COUNTED_BYTES: usize = 32 << 10;
/// What a connection takes at once.
const PIECE_BYTES: usize = 16 << 10;
const MOST_BYTES_TO_ONE: usize = 8 << 20;
const MOST_BYTES: usize = 64 << 20;
/// So much everybody gets who holds nothing else, even if others hold all that there is.
const FIRST_BYTES: usize = 512 << 10;

#[derive(Clone)]
pub struct AnswerLimits {
    all: Arc<Semaphore>,
    by_account: Places<AccountId>,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MOST_BYTES)),
            by_account: Places::default(),
        }
    }
}

impl AnswerLimits {
    /// Whoever holds more than enough gets no other answer to a question, before any work is spent on it.
    pub fn admit(&self, who: Who) -> Result<(), ApiError> {
        match self.by_account.held(who.account()) < MOST_BYTES_TO_ONE {
            true => Ok(()),
            false => Err(too_much()),
        }
    }

    /// A large answer has a place until it is sent. One to a request that has changed something is sent in
    /// any case: to refuse it would say that nothing was done.
    pub fn keep(
        &self,
        response: Response,
        who: Who,
        has_acted: bool,
    ) -> Result<Response, ApiError> {
        // What is streamed has no size yet.
        let size = response.body().size_hint().exact().unwrap_or(0);
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size < COUNTED_BYTES {
            return Ok(response);
        }
        let most = match has_acted {
            true => usize::MAX,
            false => MOST_BYTES_TO_ONE,
        };
        let place = self.by_account.take_some(who.account(), size, most);
        let place = place.ok_or_else(too_much)?;
        let permits = u32::try_from(size).unwrap_or(u32::MAX);
        let permit = match self.all.clone().try_acquire_many_owned(permits) {
            Ok(permit) => Some(permit),
            Err(_) if has_acted || (place.is_first() && size <= FIRST_BYTES) => None,
            Err(_) => return Err(ApiError::Busy),
        };
        let held = (place, permit);
        Ok(response.map(|body| Body::new(Pieces::of(body, held))))
    }
}

/// A body that is handed over piece by piece. The connection takes what it is given, so a whole answer would wait
/// there, and nobody would know.
struct Pieces {
    body: Body,
    /// What is left of what the body has given.
    rest: Bytes,
    _held: (Place<AccountId>, Option<OwnedSemaphorePermit>),
}

impl Pieces {
    const fn of(body: Body, held: (Place<AccountId>, Option<OwnedSemaphorePermit>)) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            _held: held,
        }
    }
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) if frame.is_data() => {
                    self.rest = frame.into_data().unwrap_or_default();
                }
                other => return Poll::Ready(other),
            }
        }
        let size = self.rest.len().min(PIECE_BYTES);
        // A copy: a part of the whole would keep all of it in memory.
        let piece = Bytes::copy_from_slice(&self.rest[..size]);
        self.rest.advance(size);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let exact = self.body.size_hint().exact().unwrap_or(0);
        SizeHint::with_exact(exact + self.rest.len() as u64)
    }
}

fn too_much() -> ApiError {
    ApiError::RateLimited {
        retry_after_seconds: 5,
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use http_body_util::BodyExt;

    use super::*;
    use crate::api::error::codes::ErrorCode;
    use crate::domain::{AccountId, ApiKeyId, Environment, Owner, Timestamp};

    const MEGABYTE: usize = 1 << 20;

    fn account(number: u8) -> AccountId {
        AccountId::new(Timestamp::from_millis(1), &[number; 10])
    }

    fn key(account: AccountId, number: u8) -> Who {
        let owner = Owner {
            account,
            environment: Environment::Live,
        };
        let key = ApiKeyId::new(Timestamp::from_millis(1), &[number; 10]);
        Who::Key(owner, key)
    }

    fn answer(bytes: usize) -> Response {
        Response::new(Body::from(vec![b' '; bytes]))
    }

    #[tokio::test]
    async fn an_account_holds_few_large_answers_and_any_number_of_small_ones() {
        let limits = AnswerLimits::default();
        let keep = |who, bytes| limits.keep(answer(bytes), who, false);
        let (one, other) = (key(account(1), 1), key(account(1), 2));
        let mut held: Vec<_> = (0..8).map(|_| keep(one, MEGABYTE).unwrap()).collect();
        let refused = keep(other, COUNTED_BYTES).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::RateLimited);
        assert!(limits.admit(other).is_err() && limits.admit(key(account(2), 1)).is_ok());
        assert!(keep(one, COUNTED_BYTES - 1).is_ok());
        assert!(keep(key(account(2), 1), MEGABYTE).is_ok());
        let sent = held.pop().unwrap();
        assert_eq!(sent.body().size_hint().exact(), Some(MEGABYTE as u64));
        assert_eq!(
            to_bytes(sent.into_body(), usize::MAX).await.unwrap().len(),
            MEGABYTE
        );
        assert!(limits.admit(other).is_ok() && keep(other, MEGABYTE).is_ok());
    }

    #[tokio::test]
    async fn an_answer_has_its_place_until_the_last_piece_is_taken() {
        let limits = AnswerLimits::default();
        let who = key(account(1), 1);
        let kept = limits.keep(answer(MOST_BYTES_TO_ONE), who, false).unwrap();
        let mut body = kept.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first.len(), PIECE_BYTES);
        let left = MOST_BYTES_TO_ONE - PIECE_BYTES;
        assert_eq!(body.size_hint().exact(), Some(left as u64));
        assert!(limits.admit(who).is_err());
        assert_eq!(body.collect().await.unwrap().to_bytes().len(), left);
        assert!(limits.admit(who).is_ok());
    }

    #[test]
    fn what_was_done_is_said() {
        let limits = AnswerLimits::default();
        let who = key(account(1), 1);
        let done = |bytes| limits.keep(answer(bytes), who, true);
        let held = [done(MOST_BYTES).unwrap(), done(MEGABYTE).unwrap()];
        assert!(limits.admit(who).is_err());
        drop(held);
        assert!(limits.admit(who).is_ok());
    }

    #[test]
    fn all_together_hold_no_more_than_all() {
        let limits = AnswerLimits::default();
        let keep = |number| {
            let who = key(account(number), 1);
            limits.keep(answer(MOST_BYTES_TO_ONE), who, false)
        };
        let held: Vec<_> = (0..8).map(|number| keep(number).unwrap()).collect();
        assert_eq!(keep(9).unwrap_err().code(), ErrorCode::Unavailable);
        let first = |number| {
            let who = key(account(number), 1);
            limits.keep(answer(FIRST_BYTES), who, false)
        };
        let one = first(9).unwrap();
        assert_eq!(first(9).unwrap_err().code(), ErrorCode::Unavailable);
        drop(one);
        drop(held);
        assert!(keep(9).is_ok());
    }
}
