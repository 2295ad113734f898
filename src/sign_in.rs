//! Signs people in on the pages: address and password, a code if there is a second factor, then a session.

use std::sync::Arc;

use crate::ambient::Clock;
use crate::domain::{Account, AccountId, GivenCode, Origin, PersonKind};
use crate::limits::{ClientAddress, SignInLimits, TooMany};
use crate::passwords::{HashError, Passwords};
use crate::store::{Store, StoreError};
use crate::usecases::{self, AccountSignIn, CodeCheck, SignedIn, UseCaseError};

/// What signing in needs.
#[derive(Clone)]
pub struct SignIns {
    pub store: Store,
    pub clock: Clock,
    pub passwords: Arc<Passwords>,
    /// The same as for the API: whoever tries passwords here has no more tries there.
    pub limits: Arc<SignInLimits>,
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

#[derive(Clone, Debug, thiserror::Error)]
pub enum SignInError {
    #[error(transparent)]
    TooMany(#[from] TooMany),
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

impl SignInError {
    /// Whether the attempt counts as one to guess.
    fn is_guess(&self) -> bool {
        matches!(
            self,
            Self::CodeRefused(_) | Self::Refused(UseCaseError::WrongPassword)
        )
    }
}

impl SignIns {
    /// Signs a developer in. It takes the same time whether or not the address is known. Where a second
    /// factor is required and none is set up, the session opens only the setup: see
    /// `usecases::expect_factor`.
    pub async fn developer(
        &self,
        given: Credentials,
        client: ClientAddress,
        user_agent: &str,
    ) -> Result<SignedIn, SignInError> {
        let email = given.email.to_lowercase();
        let attempt = self.limits.begin((PersonKind::Account, &email), client)?;
        let origin = Origin::new(&client.to_string(), user_agent);
        let outcome = self.try_developer(email, given, origin).await;
        match &outcome {
            Ok(_) => self.limits.succeeded(attempt),
            Err(error) if error.is_guess() => {}
            Err(_) => self.limits.give_back(attempt),
        }
        outcome
    }

    /// Whether this is the password of somebody who is signed in already.
    pub async fn check(
        &self,
        account: &Account,
        password: String,
        client: ClientAddress,
    ) -> Result<(), SignInError> {
        let email = account.email.to_lowercase();
        let attempt = self.limits.begin((PersonKind::Account, &email), client)?;
        let id = account.id;
        let hash = self.store.read(move |tx| tx.account_password(id));
        let hash = hash.await.map_err(UseCaseError::from);
        let right = match hash {
            Ok(hash) => self
                .passwords
                .verify(password, hash)
                .await
                .map_err(SignInError::from),
            Err(error) => Err(error.into()),
        };
        match right {
            Ok(true) => {
                self.limits.succeeded(attempt);
                Ok(())
            }
            Ok(false) => Err(UseCaseError::WrongPassword.into()),
            Err(error) => {
                self.limits.give_back(attempt);
                Err(error)
            }
        }
    }

    async fn try_developer(
        &self,
        email: String,
        given: Credentials,
        origin: Origin,
    ) -> Result<SignedIn, SignInError> {
        let found = self.with_password(email, given.password).await?;
        let clock = self.clock.clone();
        // It is kept whatever the outcome is: a wrong code counts.
        let outcome = self.store.write(move |tx| {
            let who = (found.0, found.1.as_str());
            usecases::sign_in_account(tx, who, given.code.as_ref(), &origin, clock.now())
        });
        match outcome.await? {
            AccountSignIn::Done(signed_in) => Ok(*signed_in),
            AccountSignIn::CodeRequired => Err(SignInError::CodeRequired),
            AccountSignIn::Refused(check) => Err(SignInError::CodeRefused(check)),
        }
    }

    /// The account with this address and password, and the hash that the password matched.
    async fn with_password(
        &self,
        email: String,
        password: String,
    ) -> Result<(AccountId, String), SignInError> {
        let sends_mail = self.sends_mail;
        let candidates = self
            .store
            .read(move |tx| usecases::sign_in_candidates(tx, &email, sends_mail));
        let mut found = None;
        // All of them, also after the right one.
        for candidate in candidates.await? {
            let hash = candidate.as_ref().map(|(_, hash)| hash.clone());
            if self.passwords.verify(password.clone(), hash).await? {
                found = found.or(candidate);
            }
        }
        Ok(found.ok_or(UseCaseError::WrongPassword)?)
    }
}
