//! Worker sign-up, tokens and authentication.

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

/// Finds the worker who holds a token. It runs on every request, so a revoked token stops working
/// at once. A suspended worker can still read earnings. Actions that a suspended worker may not
/// take are refused where they are taken.
pub fn authenticate_worker(
    tx: &mut Tx<'_>,
    token: &Secret,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let worker = tx.token_holder(&token.hash(), now)?;
    worker.ok_or(UseCaseError::Unauthorized)
}
