//! What is learned about a request on its way, for its log line.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::HeaderValue;
use hyper::body::{Frame, SizeHint};

use crate::api::request::body::room;
use crate::domain::{AccountId, AdminKeyId, ApiKeyId, Owner, Secret, WorkerId};

/// Travels with the request, and stays with the outermost layer.
#[derive(Clone)]
pub struct Notes(Arc<Noted>);

struct Noted {
    request_id: HeaderValue,
    asker: OnceLock<Asker>,
    received_bytes: AtomicU64,
}

/// Who sent a request, once that is known.
#[derive(Clone, Debug)]
pub struct Asker {
    pub who: Who,
    /// The part of the key that may be shown. Only a key that is ours has one: another could be a
    /// secret of somebody else.
    pub key_prefix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// Somebody who is signed in on the pages.
    Account(AccountId),
    Key(Owner, ApiKeyId),
    Worker(WorkerId),
    Admin(AdminKeyId),
}

impl Who {
    /// All keys of an account are one caller. Workers and admins are accounts of their own.
    pub fn account(self) -> AccountId {
        match self {
            Self::Account(id) => id,
            Self::Key(owner, _) => owner.account,
            Self::Worker(id) => AccountId::of_worker(id),
            Self::Admin(id) => AccountId::of_admin(id),
        }
    }
}

impl Notes {
    /// Begins to take notes about a request.
    pub fn begin(request: Request, request_id: HeaderValue) -> (Self, Request) {
        let notes = Self(Arc::new(Noted {
            request_id,
            asker: OnceLock::new(),
            received_bytes: AtomicU64::new(0),
        }));
        let mut request = if request.body().is_end_stream() {
            request
        } else {
            let notes = notes.clone();
            request.map(|body| Body::new(Counted { body, notes }))
        };
        request.extensions_mut().insert(notes.clone());
        (notes, request)
    }

    /// As the response will tell it.
    pub fn request_id(&self) -> &str {
        self.0.request_id.to_str().unwrap_or_default()
    }

    pub fn asker(&self) -> Option<&Asker> {
        self.0.asker.get()
    }

    /// How much of the body was read.
    pub fn received_bytes(&self) -> u64 {
        self.0.received_bytes.load(Ordering::Relaxed)
    }
}

/// Notes who sent a request, with a key that was found to be theirs.
pub fn note_asker(request: &mut Request, who: Who, key: &Secret) {
    room::note_known(request.extensions_mut(), who.account());
    if let Some(notes) = request.extensions().get::<Notes>() {
        let key_prefix = key.shown_prefix().to_owned();
        let _ = notes.0.asker.set(Asker { who, key_prefix });
    }
}

/// A body whose bytes are counted as they are read.
struct Counted {
    body: Body,
    notes: Notes,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            let counter = &self.notes.0.received_bytes;
            counter.fetch_add(data.len() as u64, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
