//! A submission of proof, which arrives as a form with files or as JSON.
//!
//! Its response is kept as others are. What is under its `submission_id` counts once for as long as the task lives.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use serde_json::{Map, Value};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::idempotency::{
    Claim, Requester, answer, begin, earlier, fingerprint, idempotency_key, record, remembered,
    replay, target,
};
use crate::api::response::json::JsonResponse;
use crate::api::response::submitted::{FileUrls, Submitted};
use crate::domain::{IDEMPOTENCY_KEPT, Proof, Secret, TaskId, Timestamp};
use crate::store::{IdempotencyRecord, IdempotencyScope, StoreError, Tx};
use crate::submission::{StoredFiles, SubmissionError};
use crate::usecases::UseCaseError;

/// The Idempotency-Key of a request whose body is still to be read.
#[derive(Clone, Debug)]
pub struct AnnouncedKey {
    key: Option<String>,
    target: String,
}

impl AnnouncedKey {
    pub fn of(request: &Request) -> Result<Self, ApiError> {
        Ok(Self {
            key: idempotency_key(request.headers())?,
            target: target(request.method(), request.uri()),
        })
    }

    /// With what was sent: fields, and in place of a file what identifies it.
    pub fn with(self, requester: Requester, sent: &Map<String, Value>) -> SubmissionKey {
        SubmissionKey(self.key.map(|key| Sent {
            scope: IdempotencyScope {
                owner: requester.owner,
                key,
            },
            fingerprint: fingerprint(&self.target, sent),
            secret: requester.key,
        }))
    }
}

/// The key of a submission that was read. Without one, nothing is kept for it.
#[derive(Clone, Debug)]
pub struct SubmissionKey(Option<Sent>);

#[derive(Clone, Debug)]
struct Sent {
    scope: IdempotencyScope,
    fingerprint: String,
    secret: Secret,
}

/// How a submission goes on.
pub enum Begin<'a> {
    /// Nobody else submits under its key until this is dropped.
    First(Option<Claim<'a>>),
    /// The same request was answered before.
    Answered(JsonResponse),
}

impl SubmissionKey {
    /// Refuses another request under this key, and one while the same is running.
    pub async fn begin<'a>(&self, app: &'a App) -> Result<Begin<'a>, ApiError> {
        let Some(sent) = &self.0 else {
            return Ok(Begin::First(None));
        };
        Ok(match begin(app, &sent.scope).await? {
            Ok(claim) => Begin::First(Some(claim)),
            Err(earlier) => Begin::Answered(sent.replay(earlier)?),
        })
    }

    async fn answered(&self, app: &App) -> Result<Option<JsonResponse>, ApiError> {
        let Some(sent) = &self.0 else {
            return Ok(None);
        };
        let kept = earlier(app, &sent.scope).await?;
        kept.map(|kept| sent.replay(kept)).transpose()
    }

    /// Keeps the response to a submission that was recorded before, under another key.
    async fn keep_again(&self, app: &App, body: &str) -> Result<(), StoreError> {
        let Some(sent) = self.0.clone() else {
            return Ok(());
        };
        let (body, now) = (body.to_owned(), app.clock.now());
        let keep = app.store.write(move |tx| match sent.is_used(tx, now)? {
            true => Ok(()),
            false => sent.keep(tx, &body, now),
        });
        keep.await
    }
}

impl Sent {
    fn replay(&self, kept: IdempotencyRecord) -> Result<JsonResponse, ApiError> {
        replay(kept, &self.fingerprint, &self.secret)
    }

    fn is_used(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<bool, StoreError> {
        Ok(remembered(tx, &self.scope, now)?.is_some())
    }

    fn keep(&self, tx: &mut Tx<'_>, body: &str, now: Timestamp) -> Result<(), StoreError> {
        let new = record(&self.fingerprint, StatusCode::CREATED, body, None, now)?;
        tx.put_idempotency_record(&self.scope, &new, now.minus(IDEMPOTENCY_KEPT))
    }
}

/// The response to a submission that is about to be recorded. Cheap to clone.
#[derive(Clone)]
pub struct Answer(Arc<Parts>);

struct Parts {
    task: TaskId,
    urls: FileUrls,
    key: SubmissionKey,
}

impl Answer {
    pub async fn prepare(
        app: &App,
        task: TaskId,
        stored: &StoredFiles,
        key: SubmissionKey,
    ) -> Result<Self, ApiError> {
        let urls = match FileUrls::new(app, &stored.files).await {
            Ok(urls) => urls,
            Err(error) => {
                app.submissions.discard(stored).await;
                return Err(error);
            }
        };
        Ok(Self(Arc::new(Parts { task, urls, key })))
    }

    /// Call it first in the transaction: another server may have answered under this key meanwhile.
    pub fn begin(&self, tx: &mut Tx<'_>, now: Timestamp) -> Result<(), UseCaseError> {
        match &self.0.key.0 {
            Some(sent) if sent.is_used(tx, now)? => Err(UseCaseError::KeyUsed),
            _ => Ok(()),
        }
    }

    /// Keeps it with the new proofs, in their transaction.
    pub fn keep(
        &self,
        tx: &mut Tx<'_>,
        proofs: &[Proof],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match &self.0.key.0 {
            Some(sent) => sent.keep(tx, &self.body(proofs)?, now),
            None => Ok(()),
        }
    }

    fn body(&self, proofs: &[Proof]) -> Result<String, StoreError> {
        Submitted::body(self.0.task, proofs, &self.0.urls)
    }

    /// Sends it, or what was sent before.
    pub async fn send(
        self,
        app: &App,
        recorded: Result<(Vec<Proof>, bool), SubmissionError>,
    ) -> Result<JsonResponse, ApiError> {
        if let Ok((proofs, true)) = &recorded {
            return Ok(answer(StatusCode::CREATED, self.body(proofs)?, false));
        }
        // Another server may have answered under this key first.
        if let Some(answered) = self.0.key.answered(app).await? {
            return Ok(answered);
        }
        let (proofs, _) = recorded?;
        let again = Submitted::again(app, self.0.task, proofs).await?;
        self.0.key.keep_again(app, &again.body).await?;
        Ok(again)
    }
}
