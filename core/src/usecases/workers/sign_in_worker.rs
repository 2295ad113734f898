//! Worker sign-up and tokens.

use std::time::Duration;

use crate::domain::{GivenCode, Person, Secret, Timestamp, Worker, WorkerId};
use crate::store::{NewWorkerToken, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::second_factor::passkeys::{UsedPasskey, use_passkey};
use crate::usecases::second_factor::{FactorAtSignIn, factor_at_sign_in};
use crate::usecases::workers::people::request_worker_confirmation;

/// How long a token is valid.
pub const TOKEN_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How old a sign-in may be for what moves money or keeps others out.
const RECENT_SIGN_IN: Duration = Duration::from_secs(10 * 60);

/// A token that is about to be issued.
#[derive(Clone, Debug)]
pub struct NewSession {
    pub token: Secret,
    /// What the program says of itself.
    pub user_agent: String,
}

/// Signs a worker up. An address that is only claimed gets a mail, whatever is known of it.
pub fn sign_up_worker(
    tx: &mut Tx<'_>,
    worker: &Worker,
    password_hash: &str,
    session: &NewSession,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if !tx.insert_worker(worker, password_hash)? {
        return Err(UseCaseError::WorkerEmailTaken);
    }
    add_token(tx, worker.id, session, false, now)?;
    request_worker_confirmation(tx, worker.id, now)
}

/// Issues a token for a worker whose password matched the hash `checked`, if the second factor allows it. The
/// transaction must be kept whatever the outcome is.
pub fn sign_in_worker(
    tx: &mut Tx<'_>,
    (worker, checked): (WorkerId, &str),
    code: Option<&GivenCode>,
    session: &NewSession,
    now: Timestamp,
) -> Result<FactorAtSignIn, UseCaseError> {
    // It may have been changed since it was compared.
    tx.worker_to_change(worker)?;
    if tx.worker_password(worker)?.as_deref() != Some(checked) {
        return Err(UseCaseError::WrongPassword);
    }
    let factor = factor_at_sign_in(tx, Person::Worker(worker), code, now)?;
    if let FactorAtSignIn::Passes { given } = factor {
        add_token(tx, worker, session, given, now)?;
    }
    Ok(factor)
}

/// Issues a token for a worker whose passkey has answered: it stands for password and second factor. False if its counter
/// went back. The transaction must be kept whatever the outcome is.
pub fn sign_in_worker_with_passkey(
    tx: &mut Tx<'_>,
    used: &UsedPasskey,
    session: &NewSession,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    let Person::Worker(worker) = used.holder else {
        return Err(UseCaseError::WrongPassword);
    };
    tx.worker_to_change(worker)?;
    let counts = use_passkey(tx, used, now)?;
    if counts {
        add_token(tx, worker, session, true, now)?;
    }
    Ok(counts)
}

/// Stores a token. Only its hash is kept.
pub fn issue_token(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    token: &Secret,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let session = NewSession {
        token: token.clone(),
        user_agent: String::new(),
    };
    add_token(tx, worker, &session, false, now)
}

fn add_token(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    session: &NewSession,
    second_factor: bool,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    Ok(tx.add_worker_token(&NewWorkerToken {
        hash: &session.token.hash(),
        worker,
        second_factor,
        user_agent: &session.user_agent,
        created_at: now,
        expires_at: now.plus(TOKEN_LIFE),
    })?)
}

/// Some things need a sign-in from a short time ago: a token that was stolen since then is not enough.
pub fn check_recent_sign_in(signed_in_at: Timestamp, now: Timestamp) -> Result<(), UseCaseError> {
    match now.since(signed_in_at) <= RECENT_SIGN_IN {
        true => Ok(()),
        false => Err(UseCaseError::SignInAgain),
    }
}
