//! Signs people in on the pages: address and password, then a session.

use std::sync::Arc;

use crate::ambient::Clock;
use crate::domain::{Account, AccountStatus, Origin, Person, Secret, Session};
use crate::passwords::{HashError, Passwords};
use crate::store::{Store, StoreError};
use crate::usecases::{self, UseCaseError};

/// What signing in needs.
#[derive(Clone)]
pub struct SignIns {
    pub store: Store,
    pub clock: Clock,
    pub passwords: Arc<Passwords>,
    /// Whether addresses can be confirmed.
    pub sends_mail: bool,
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
        email: &str,
        password: &str,
        origin: Origin,
    ) -> Result<SignedIn, SignInError> {
        let (email, sends_mail) = (email.to_lowercase(), self.sends_mail);
        let candidates = self
            .store
            .read(move |tx| usecases::sign_in_candidates(tx, &email, sends_mail));
        let mut found = None;
        // All of them, also after the right one.
        for candidate in candidates.await? {
            let (id, hash) = candidate.unzip();
            if self.passwords.verify(password.to_owned(), hash).await? {
                found = found.or(id);
            }
        }
        let id = found.ok_or(UseCaseError::WrongPassword)?;
        let clock = self.clock.clone();
        let signed_in = self.store.write(move |tx| {
            let account = tx.account(id)?.ok_or(UseCaseError::WrongPassword)?;
            match account.status {
                AccountStatus::Active => {}
                AccountStatus::Suspended => return Err(UseCaseError::AccountSuspended),
                AccountStatus::Deleted => return Err(UseCaseError::WrongPassword),
            }
            let person = Person::Account(id);
            let (session, token) = usecases::open_session(tx, person, &origin, clock.now())?;
            Ok(SignedIn {
                account,
                session,
                token,
            })
        });
        Ok(signed_in.await?)
    }
}
