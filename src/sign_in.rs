//! Signs people in on the pages: address and password, a code if there is a second factor, then a session.

use std::sync::Arc;

use crate::ambient::Clock;
use crate::domain::{
    Account, AccountId, AccountStatus, GivenCode, Origin, Person, Secret, Session, Timestamp,
};
use crate::passwords::{HashError, Passwords};
use crate::store::{Store, StoreError, Tx};
use crate::usecases::{self, CodeCheck, UseCaseError};

/// What signing in needs.
#[derive(Clone)]
pub struct SignIns {
    pub store: Store,
    pub clock: Clock,
    pub passwords: Arc<Passwords>,
    /// Whether addresses can be confirmed.
    pub sends_mail: bool,
}

/// What somebody signs in with.
#[derive(Clone)]
pub struct Credentials {
    pub email: String,
    pub password: String,
    /// Needed if there is a second factor.
    pub code: Option<GivenCode>,
}

/// A developer who is signed in. The token is the cookie's value, and is shown this once.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub account: Account,
    pub session: Session,
    pub token: Secret,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum SignInError {
    #[error("too many passwords are being checked")]
    Busy,
    /// The password was right, and there is a second factor.
    #[error("the second factor is missing")]
    CodeRequired,
    #[error("the code did not pass")]
    CodeRefused(CodeCheck),
    #[error(transparent)]
    Refused(#[from] UseCaseError),
}

impl From<HashError> for SignInError {
    fn from(error: HashError) -> Self {
        match error {
            HashError::Busy => Self::Busy,
            HashError::Failed(reason) => Self::Refused(StoreError::Failed(reason).into()),
        }
    }
}

impl SignIns {
    /// Signs a developer in. It takes the same time whether or not the address is known. Whoever calls
    /// it counts the attempts.
    pub async fn developer(
        &self,
        given: Credentials,
        origin: Origin,
    ) -> Result<SignedIn, SignInError> {
        let id = self.with_password(&given).await?;
        let clock = self.clock.clone();
        // It is kept whatever the outcome is: a wrong code counts.
        let outcome = self
            .store
            .write(move |tx| open(tx, id, given.code.as_ref(), &origin, clock.now()));
        outcome.await?
    }

    /// The account with this address and password.
    async fn with_password(&self, given: &Credentials) -> Result<AccountId, SignInError> {
        let (email, sends_mail) = (given.email.to_lowercase(), self.sends_mail);
        let candidates = self
            .store
            .read(move |tx| usecases::sign_in_candidates(tx, &email, sends_mail));
        let mut found = None;
        // All of them, also after the right one.
        for candidate in candidates.await? {
            let (id, hash) = candidate.unzip();
            if self.passwords.verify(given.password.clone(), hash).await? {
                found = found.or(id);
            }
        }
        Ok(found.ok_or(UseCaseError::WrongPassword)?)
    }
}

fn open(
    tx: &mut Tx<'_>,
    id: AccountId,
    code: Option<&GivenCode>,
    origin: &Origin,
    now: Timestamp,
) -> Result<Result<SignedIn, SignInError>, UseCaseError> {
    let account = tx.account(id)?.ok_or(UseCaseError::WrongPassword)?;
    match account.status {
        AccountStatus::Active => {}
        AccountStatus::Suspended => return Err(UseCaseError::AccountSuspended),
        AccountStatus::Deleted => return Err(UseCaseError::WrongPassword),
    }
    let person = Person::Account(id);
    if tx.second_factor_enabled(person)?.is_some() {
        let Some(code) = code else {
            return Ok(Err(SignInError::CodeRequired));
        };
        match usecases::check_code(tx, person, code, now)? {
            CodeCheck::Right | CodeCheck::Off => {}
            refused => return Ok(Err(SignInError::CodeRefused(refused))),
        }
    }
    let (session, token) = usecases::open_session(tx, person, origin, now)?;
    Ok(Ok(SignedIn {
        account,
        session,
        token,
    }))
}
