//! Worker sign-up and tokens.

use std::time::Duration;

use crate::domain::{Secret, Timestamp, Worker, WorkerId};
use crate::store::Tx;
use crate::usecases::UseCaseError;

/// How long a token is valid.
pub const TOKEN_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub fn sign_up_worker(
    tx: &mut Tx<'_>,
    worker: &Worker,
    password_hash: &str,
    token: &Secret,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if !tx.insert_worker(worker, password_hash)? {
        return Err(UseCaseError::WorkerEmailTaken);
    }
    issue_token(tx, worker.id, token, now)
}

/// Stores a token. Only its hash is kept.
pub fn issue_token(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    token: &Secret,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    Ok(tx.add_worker_token(&token.hash(), worker, now, now.plus(TOKEN_LIFE))?)
}
