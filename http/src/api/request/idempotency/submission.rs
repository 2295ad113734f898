//! A submission of proof, which arrives as a form with files or as JSON.
//!
//! Its key is one of its names, for as long as the task lives, so it counts once whenever it is repeated. For
//! as long as other responses are kept, this one is, too: then a repeat gets it as it was, and the key cannot
//! be used for another request.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use serde_json::{Map, Value};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::idempotency::{
    Requester, answer, earlier, fingerprint, idempotency_key, record, replay, target,
};
use crate::api::response::json::JsonResponse;
use crate::api::response::submitted::{FileUrls, Submitted};
use crate::domain::{IDEMPOTENCY_KEPT, Proof, Secret, TaskId, Timestamp};
use crate::store::{IdempotencyScope, StoreError, Tx};
use crate::submission::{StoredFiles, SubmissionError};

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

    pub fn name(&self) -> Option<String> {
        self.key.clone()
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

impl SubmissionKey {
    /// The response to the same request, if it is kept. Refuses another request under this key.
    pub async fn answered(&self, app: &App) -> Result<Option<JsonResponse>, ApiError> {
        let Some(sent) = &self.0 else {
            return Ok(None);
        };
        let kept = earlier(app, &sent.scope).await?;
        kept.map(|kept| replay(kept, &sent.fingerprint, &sent.secret))
            .transpose()
    }

    /// Keeps the response, in the transaction of the submission.
    fn keep(
        &self,
        tx: &mut Tx<'_>,
        body: impl FnOnce() -> Result<String, StoreError>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(sent) = &self.0 else {
            return Ok(());
        };
        let new = record(&sent.fingerprint, StatusCode::CREATED, &body()?, None, now)?;
        tx.put_idempotency_record(&sent.scope, &new, now.minus(IDEMPOTENCY_KEPT))
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

    /// Keeps it with the new proofs, in their transaction.
    pub fn keep(
        &self,
        tx: &mut Tx<'_>,
        proofs: &[Proof],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.0.key.keep(tx, || self.body(proofs), now)
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
        // Another request with this key may have come first.
        if let Some(answered) = self.0.key.answered(app).await? {
            return Ok(answered);
        }
        let (proofs, _) = recorded?;
        Submitted::again(app, self.0.task, proofs).await
    }
}
