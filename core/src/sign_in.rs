//! What people do with their password before they are known: sign in on the pages (a code if there is a second
//! factor, then a session), and confirm an address. A passkey stands for both.

mod passkeys;

use std::sync::Arc;

use crate::ambient::Clock;
use crate::domain::{
    Account, AccountId, AdminKey, GivenCode, Origin, Person, PersonKind, RelyingParty, Secret,
};
use crate::limits::{Applicant, Attempt, ClientAddress, SignInLimits, TooMany};
use crate::passwords::{HashError, Passwords};
use crate::store::{Lookup, Store, StoreError};
use crate::usecases::{
    self, AccountSignIn, AdminSignIn, AdminVisitor, CodeCheck, Confirmation, FactorAtSignIn,
    SignedIn, UseCaseError,
};

pub use passkeys::{GivenPasskey, PasskeyRefused};

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
    /// The site for which passkeys are made. None where browsers make none.
    pub site: Option<RelyingParty>,
}

/// What somebody signs in with.
#[derive(Clone)]
pub struct Credentials {
    pub email: String,
    pub password: String,
    /// Needed if there is a second factor.
    pub code: Option<GivenCode>,
}

/// What an admin signs in with.
#[derive(Clone)]
pub struct AdminCredentials {
    pub key: Secret,
    /// Needed if the key has a second factor.
    pub code: Option<GivenCode>,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum SignInError {
    #[error(transparent)]
    TooMany(#[from] TooMany),
    #[error("too many passwords are being checked")]
    Busy,
    /// The password was right, and this person has a second factor.
    #[error("the second factor is missing")]
    CodeRequired(Person),
    #[error("the code did not pass")]
    CodeRefused(Person, CodeCheck),
    #[error(transparent)]
    Passkey(#[from] PasskeyRefused),
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
            Self::CodeRefused(..) | Self::Passkey(_) | Self::Refused(UseCaseError::WrongPassword)
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
        let outcome = self
            .try_developer(email, given, (origin, attempt.applicant()))
            .await;
        self.counted(attempt, outcome)
    }

    /// Only guesses count.
    fn counted<T>(
        &self,
        attempt: Attempt,
        outcome: Result<T, SignInError>,
    ) -> Result<T, SignInError> {
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
                .verify(password, hash, Applicant::known(client))
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

    /// Uses a link that confirms an address. Who reads the mail of the address must also know the password
    /// of a sign-up with it, or nobody knows whose account that is. Returns the address, and whose it is. `kind` is
    /// whose link it must be, if that is known.
    pub async fn confirm(
        &self,
        (token, password): (Secret, String),
        kind: Option<PersonKind>,
        client: ClientAddress,
    ) -> Result<(String, PersonKind), SignInError> {
        let (shown, now) = (token.clone(), self.clock.now());
        let link = self
            .store
            .read(move |tx| usecases::confirmation(tx, &shown, now))
            .await?;
        if kind.is_some_and(|kind| kind != link.kind) {
            return Err(UseCaseError::LinkExpired.into());
        }
        let whose = link.kind;
        let attempt = self.limits.begin((whose, &link.email), client)?;
        let applicant = Applicant::known(client);
        let outcome = self.try_confirm((token, password), link, applicant).await;
        let email = self.counted(attempt, outcome)?;
        Ok((email, whose))
    }

    async fn try_confirm(
        &self,
        (token, password): (Secret, String),
        link: Confirmation,
        applicant: Applicant,
    ) -> Result<String, SignInError> {
        for candidate in link.candidates {
            let hash = Some(candidate.hash.clone());
            if self
                .passwords
                .verify(password.clone(), hash, applicant)
                .await?
            {
                let clock = self.clock.clone();
                let confirm = self
                    .store
                    .write(move |tx| usecases::confirm_email(tx, &token, &candidate, clock.now()));
                return Ok(confirm.await?);
            }
        }
        Err(UseCaseError::WrongPassword.into())
    }

    async fn try_developer(
        &self,
        email: String,
        given: Credentials,
        (origin, applicant): (Origin, Applicant),
    ) -> Result<SignedIn, SignInError> {
        let found = self.with_password(email, given.password, applicant).await?;
        let person = Person::Account(found.0);
        let clock = self.clock.clone();
        // It is kept whatever the outcome is: a wrong code counts.
        let outcome = self.store.write(move |tx| {
            let who = (found.0, found.1.as_str());
            usecases::sign_in_account(tx, who, given.code.as_ref(), &origin, clock.now())
        });
        match outcome.await? {
            AccountSignIn::Done(signed_in) => Ok(*signed_in),
            AccountSignIn::CodeRequired => Err(SignInError::CodeRequired(person)),
            AccountSignIn::Refused(check) => Err(SignInError::CodeRefused(person, check)),
        }
    }

    /// The account with this address and password, and the hash that the password matched.
    async fn with_password(
        &self,
        email: String,
        password: String,
        applicant: Applicant,
    ) -> Result<(AccountId, String), SignInError> {
        let sends_mail = self.sends_mail;
        let candidates = self
            .store
            .read(move |tx| usecases::sign_in_candidates(tx, &email, sends_mail));
        let mut found = None;
        // All of them, also after the right one.
        for candidate in candidates.await? {
            let hash = candidate.as_ref().map(|(_, hash)| hash.clone());
            if self
                .passwords
                .verify(password.clone(), hash, applicant)
                .await?
            {
                found = found.or(candidate);
            }
        }
        Ok(found.ok_or(UseCaseError::WrongPassword)?)
    }

    /// Signs an admin in with a key. Whoever guesses codes is stopped like one who guesses passwords.
    pub async fn admin(
        &self,
        given: AdminCredentials,
        client: ClientAddress,
        user_agent: &str,
    ) -> Result<Secret, SignInError> {
        let origin = Origin::new(&client.to_string(), user_agent);
        let code = given.code.clone();
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let opened = self.with_admin_key(given, client, async |key: AdminKey| {
            let person = Person::Admin(key.id);
            // It is kept whatever the outcome is: a wrong code counts.
            let outcome = store.write(move |tx| {
                usecases::sign_in_admin(tx, key.id, code.as_ref(), &origin, clock.now())
            });
            match outcome.await? {
                AdminSignIn::Done(token) => Ok(token),
                AdminSignIn::CodeRequired => Err(SignInError::CodeRequired(person)),
                AdminSignIn::Refused(check) => Err(SignInError::CodeRefused(person, check)),
            }
        });
        opened.await
    }

    /// An admin who is signed in gives the key again, before something dangerous.
    pub async fn admin_again(
        &self,
        visitor: &AdminVisitor,
        given: AdminCredentials,
        client: ClientAddress,
    ) -> Result<(), SignInError> {
        let (session, code) = (visitor.session.clone(), given.code.clone());
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let checked = self.with_admin_key(given, client, async |key: AdminKey| {
            let person = Person::Admin(key.id);
            if person != session.person {
                return Err(UseCaseError::WrongPassword.into());
            }
            let outcome = store.write(move |tx| {
                usecases::admin_key_given_again(tx, &session, code.as_ref(), clock.now())
            });
            match outcome.await? {
                FactorAtSignIn::Passes { .. } => Ok(()),
                FactorAtSignIn::CodeRequired => Err(SignInError::CodeRequired(person)),
                FactorAtSignIn::Refused(check) => Err(SignInError::CodeRefused(person, check)),
            }
        });
        checked.await
    }

    /// Goes on with the record of a key, if it is good. The attempt is counted.
    async fn with_admin_key<T>(
        &self,
        given: AdminCredentials,
        client: ClientAddress,
        then: impl AsyncFnOnce(AdminKey) -> Result<T, SignInError>,
    ) -> Result<T, SignInError> {
        let hash = given.key.hash();
        let attempt = self.limits.begin((PersonKind::Admin, &hash), client)?;
        let outcome = match self.store.find(Lookup::admin_key(hash)).await {
            Ok(Some(key)) => then(key).await,
            Ok(None) => Err(UseCaseError::WrongPassword.into()),
            Err(error) => Err(UseCaseError::from(error).into()),
        };
        self.counted(attempt, outcome)
    }
}
