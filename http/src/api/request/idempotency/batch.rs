//! A POST that asks for several things at once, each done in a transaction of its own.
//!
//! One Idempotency-Key covers all. What was done is stored for each by its place, in the transaction of
//! its effect. The first of these transactions also stores what the whole request was, so the key cannot
//! be used for another one. A repeat finds what was done before and does the rest.

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::idempotency::{
    Claim, Post, Requester, earlier, opened, record, remembered,
};
use crate::domain::{AccountId, IDEMPOTENCY_KEPT, Timestamp};
use crate::store::{IdempotencyRecord, IdempotencyScope, StoreError, Tx};
use crate::usecases::UseCaseError;
use axum::http::StatusCode;

/// What is stored of a request as a whole: there is nothing more to tell.
const STORED: &str = "";

pub struct Batch<'a> {
    app: &'a App,
    requester: Requester,
    /// The account whose totals the effects write.
    account: AccountId,
    sealed: bool,
    keyed: Option<Keyed<'a>>,
}

/// A batch with an Idempotency-Key.
struct Keyed<'a> {
    scope: IdempotencyScope,
    fingerprint: String,
    /// None while another request with this key is running.
    claim: Option<Claim<'a>>,
}

impl Keyed<'_> {
    /// Where one part is stored. No key that a caller sends has a line break.
    fn part(&self, place: usize) -> IdempotencyScope {
        IdempotencyScope {
            owner: self.scope.owner,
            key: format!("{}\n{place}", self.scope.key),
        }
    }
}

/// The response of a part.
#[derive(Debug)]
pub struct Part {
    pub body: String,
    /// An earlier request has done it.
    pub replayed: bool,
}

enum Outcome {
    Done(String),
    Earlier(IdempotencyRecord),
    AnotherRequest,
}

impl<'a> Batch<'a> {
    /// The responses are stored sealed, if they hand out secrets.
    pub fn begin(app: &'a App, requester: Requester, post: Post, sealed: bool) -> Self {
        let keyed = post.key.map(|key| {
            let owner = requester.owner;
            let scope = IdempotencyScope { owner, key };
            Keyed {
                claim: app.in_flight.claim(&scope).ok(),
                scope,
                fingerprint: post.fingerprint,
            }
        });
        Self {
            app,
            account: requester.owner.account,
            requester,
            sealed,
            keyed,
        }
    }

    /// What an earlier request with the same key has done, by place. Refused if that is not all of it, and
    /// another request with this key is running.
    pub async fn done_before(&self, parts: usize) -> Result<Vec<Option<Part>>, ApiError> {
        let done = self.stored(parts).await?;
        let is_held = |keyed: &Keyed<'_>| keyed.claim.is_none();
        if self.keyed.as_ref().is_some_and(is_held) && done.iter().any(Option::is_none) {
            return Err(ApiError::IdempotencyInFlight);
        }
        Ok(done)
    }

    async fn stored(&self, parts: usize) -> Result<Vec<Option<Part>>, ApiError> {
        let nothing = || (0..parts).map(|_| None).collect();
        let Some(keyed) = &self.keyed else {
            return Ok(nothing());
        };
        match earlier(self.app, &keyed.scope).await? {
            None => return Ok(nothing()),
            Some(request) if request.fingerprint != keyed.fingerprint => {
                return Err(ApiError::IdempotencyMismatch);
            }
            Some(_) => {}
        }
        let scopes: Vec<_> = (0..parts).map(|place| keyed.part(place)).collect();
        let now = self.app.clock.now();
        let read = move |tx: &mut Tx<'_>| {
            let found = scopes.iter().map(|scope| remembered(tx, scope, now));
            found.collect::<Result<Vec<_>, StoreError>>()
        };
        let found = self.app.store.snapshot(read).await?;
        let replayed = |record: Option<_>| record.map(|record| self.replay(record)).transpose();
        found.into_iter().map(replayed).collect()
    }

    /// Does one part, unless it was done before. Writes that are begun in the order of their places are
    /// queued in that order, and share commits.
    pub async fn run<E>(&self, place: usize, mut effect: E) -> Result<Part, ApiError>
    where
        E: FnMut(&mut Tx<'_>, Timestamp) -> Result<String, UseCaseError> + Send + 'static,
    {
        let (store, clock) = (&self.app.store, self.app.clock.clone());
        let Some(keyed) = &self.keyed else {
            let work = move |tx: &mut Tx<'_>| effect(tx, clock.now());
            let body = store.write_for(self.account, work).await?;
            return Ok(Part {
                body,
                replayed: false,
            });
        };
        let (whole, part) = (keyed.scope.clone(), keyed.part(place));
        let fingerprint = keyed.fingerprint.clone();
        let sealer = self.sealed.then(|| self.requester.key.clone());
        let work = move |tx: &mut Tx<'_>| {
            let now = clock.now();
            let request = remembered(tx, &whole, now)?;
            if let Some(request) = &request {
                if request.fingerprint != fingerprint {
                    return Ok(Outcome::AnotherRequest);
                }
                if let Some(earlier) = remembered(tx, &part, now)? {
                    return Ok(Outcome::Earlier(earlier));
                }
            }
            // The effect comes first: it locks the totals, for which others with this key wait.
            let body = effect(tx, now)?;
            let expired = now.minus(IDEMPOTENCY_KEPT);
            let begun = match request {
                Some(request) => request.created_at,
                None => {
                    let request = record(&fingerprint, StatusCode::OK, STORED, None, now)?;
                    tx.put_idempotency_record(&whole, &request, expired)?;
                    now
                }
            };
            // All parts are forgotten together with the request.
            let done = record(
                &fingerprint,
                StatusCode::CREATED,
                &body,
                sealer.as_ref(),
                begun,
            )?;
            tx.put_idempotency_record(&part, &done, expired)?;
            Ok::<_, UseCaseError>(Outcome::Done(body))
        };
        match store.write_for(self.account, work).await {
            Ok(Outcome::Done(body)) => Ok(Part {
                body,
                replayed: false,
            }),
            Ok(Outcome::Earlier(record)) => self.replay(record),
            Ok(Outcome::AnotherRequest) => Err(ApiError::IdempotencyMismatch),
            // The same request may be running on another server, which has done this part.
            Err(error) => match earlier(self.app, &keyed.part(place)).await? {
                Some(record) => self.replay(record),
                None => Err(error.into()),
            },
        }
    }

    fn replay(&self, record: IdempotencyRecord) -> Result<Part, ApiError> {
        let fingerprint = self.keyed.as_ref().map(|keyed| keyed.fingerprint.as_str());
        if fingerprint != Some(record.fingerprint.as_str()) {
            return Err(ApiError::IdempotencyMismatch);
        }
        Ok(Part {
            body: opened(record, &self.requester.key)?,
            replayed: true,
        })
    }
}
