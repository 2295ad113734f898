//! What a request aims at that takes more than one transaction. It is kept before the first of them, so a
//! repeat of a request that broke off goes on to the same end, not from there as far again.

use axum::http::StatusCode;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::idempotency::{Post, earlier, record, remembered};
use crate::domain::{IDEMPOTENCY_KEPT, Owner};
use crate::store::{IdempotencyRecord, IdempotencyScope, Tx};
use crate::usecases::UseCaseError;

pub struct Aim {
    scope: IdempotencyScope,
    fingerprint: String,
}

impl Aim {
    /// None without an Idempotency-Key: no repeat would be known. No key that a caller sends has a line break.
    pub fn of(post: &Post, owner: Owner) -> Option<Self> {
        let key = format!("{}\naim", post.key.as_ref()?);
        Some(Self {
            scope: IdempotencyScope { owner, key },
            fingerprint: post.fingerprint.clone(),
        })
    }

    /// What an earlier attempt has kept.
    pub async fn kept(&self, app: &App) -> Result<Option<String>, ApiError> {
        let kept = earlier(app, &self.scope).await?;
        kept.map(|kept| self.read(kept)).transpose()
    }

    /// Keeps the aim of the first attempt. Returns what is kept: another server may have been faster.
    pub async fn keep(&self, app: &App, aim: String) -> Result<String, ApiError> {
        let (scope, fingerprint) = (self.scope.clone(), self.fingerprint.clone());
        let clock = app.clock.clone();
        let keep = move |tx: &mut Tx<'_>| {
            let now = clock.now();
            if let Some(kept) = remembered(tx, &scope, now)? {
                return Ok(kept);
            }
            let new = record(&fingerprint, StatusCode::OK, &aim, None, now)?;
            tx.put_idempotency_record(&scope, &new, now.minus(IDEMPOTENCY_KEPT))?;
            Ok::<_, UseCaseError>(new)
        };
        self.read(app.store.write(keep).await?)
    }

    fn read(&self, kept: IdempotencyRecord) -> Result<String, ApiError> {
        match kept.fingerprint == self.fingerprint {
            true => Ok(kept.response_body),
            false => Err(ApiError::IdempotencyMismatch),
        }
    }
}
