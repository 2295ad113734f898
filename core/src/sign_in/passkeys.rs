//! Passkeys: their answers are checked outside of any transaction, and count as attempts like passwords.

use super::{SignInError, SignIns};
use crate::domain::second_factor::passkeys::{NewCredential, NotAccepted};
use crate::domain::{
    ChallengeId, ChallengePurpose, GivenAssertion, GivenRegistration, Origin, Passkey, Person,
    PersonKind, Secret, Session, SessionId,
};
use crate::limits::ClientAddress;
use crate::store::StoreError;
use crate::usecases::{self, NewSession, SignedIn, UseCaseError, UsedPasskey};

/// The answer of a passkey, and to which challenge.
#[derive(Clone, Debug)]
pub struct GivenPasskey {
    pub challenge: ChallengeId,
    pub answer: GivenAssertion,
}

/// Why a passkey was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyRefused {
    #[error("what the browser sent is incomplete")]
    Incomplete,
    #[error("the challenge has expired or was answered already")]
    Expired,
    #[error("no such passkey")]
    Unknown,
    #[error("there are no passkeys at this address")]
    NotHere,
    #[error("its counter went back")]
    CounterWentBack,
    #[error(transparent)]
    NotAccepted(#[from] NotAccepted),
}

/// What a challenge of somebody who signs in was made for.
fn purposes(kind: PersonKind) -> &'static [ChallengePurpose] {
    use ChallengePurpose::{SecondFactor, SignIn};
    match kind {
        // The key of an admin stays what the admin is known by.
        PersonKind::Admin => &[SecondFactor],
        PersonKind::Account | PersonKind::Worker => &[SignIn, SecondFactor],
    }
}

impl SignIns {
    pub async fn developer_with_passkey(
        &self,
        given: GivenPasskey,
        client: ClientAddress,
        user_agent: &str,
    ) -> Result<SignedIn, SignInError> {
        let origin = Origin::new(&client.to_string(), user_agent);
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let opened = self.with_passkey((PersonKind::Account, given), client, async |used| {
            // It is kept whatever the outcome is: a counter that went back is recorded.
            let outcome = store.write(move |tx| {
                usecases::sign_in_account_with_passkey(tx, &used, &origin, clock.now())
            });
            Ok(outcome.await?.ok_or(PasskeyRefused::CounterWentBack)?)
        });
        opened.await
    }

    pub async fn worker_with_passkey(
        &self,
        given: GivenPasskey,
        session: NewSession,
        client: ClientAddress,
    ) -> Result<(), SignInError> {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let opened = self.with_passkey((PersonKind::Worker, given), client, async |used| {
            let outcome = store.write(move |tx| {
                usecases::sign_in_worker_with_passkey(tx, &used, &session, clock.now())
            });
            match outcome.await? {
                true => Ok(()),
                false => Err(PasskeyRefused::CounterWentBack.into()),
            }
        });
        opened.await
    }

    /// The key was given before: only then is there a challenge.
    pub async fn admin_with_passkey(
        &self,
        given: GivenPasskey,
        client: ClientAddress,
        user_agent: &str,
    ) -> Result<Secret, SignInError> {
        let origin = Origin::new(&client.to_string(), user_agent);
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let opened = self.with_passkey((PersonKind::Admin, given), client, async |used| {
            let outcome = store.write(move |tx| {
                usecases::sign_in_admin_with_passkey(tx, &used, &origin, clock.now())
            });
            Ok(outcome.await?.ok_or(PasskeyRefused::CounterWentBack)?)
        });
        opened.await
    }

    /// Somebody who is signed in gives a passkey instead of the password or the key, before something dangerous. It must be
    /// their own, and only this session is changed.
    pub async fn passkey_again(
        &self,
        session: &Session,
        given: GivenPasskey,
        client: ClientAddress,
    ) -> Result<(), SignInError> {
        let (person, id) = (session.person, session.id);
        let credential = given.answer.credential_id.clone();
        let found = self
            .store
            .read(move |tx| usecases::own_passkey_to_try(tx, person, &credential));
        let (passkey, name) = found.await?;
        let attempt = self.limits.begin((person.kind(), &name), client)?;
        let outcome = match self
            .checked(passkey, given, &[ChallengePurpose::Again])
            .await
        {
            Ok(used) => self.note_again(used, id).await,
            Err(error) => Err(error),
        };
        self.counted(attempt, outcome)
    }

    async fn note_again(&self, used: UsedPasskey, session: SessionId) -> Result<(), SignInError> {
        let clock = self.clock.clone();
        // It is kept whatever the outcome is: a counter that went back is recorded.
        let noted = self
            .store
            .write(move |tx| usecases::passkey_given_again(tx, &used, session, clock.now()));
        match noted.await? {
            true => Ok(()),
            false => Err(PasskeyRefused::CounterWentBack.into()),
        }
    }

    /// Goes on with a passkey whose answer is right. The attempt is counted, for its owner if there is one.
    async fn with_passkey<T>(
        &self,
        (kind, given): (PersonKind, GivenPasskey),
        client: ClientAddress,
        then: impl AsyncFnOnce(UsedPasskey) -> Result<T, SignInError>,
    ) -> Result<T, SignInError> {
        let id = given.answer.credential_id.clone();
        let found = self.store.read(move |tx| usecases::passkey_to_try(tx, &id));
        let found: Result<_, StoreError> = found.await;
        let found = found.map_err(UseCaseError::from)?;
        let found = found.filter(|(passkey, _)| passkey.holder.kind() == kind);
        let name = found.as_ref().map(|(_, name)| name.clone());
        let name = name.unwrap_or_else(|| given.answer.credential_id.clone());
        let attempt = self.limits.begin((kind, &name), client)?;
        let passkey = found.map(|(passkey, _)| passkey);
        let outcome = match self.checked(passkey, given, purposes(kind)).await {
            Ok(used) => then(used).await,
            Err(error) => Err(error),
        };
        self.counted(attempt, outcome)
    }

    /// Uses the challenge up, whatever the answer.
    async fn checked(
        &self,
        passkey: Option<Passkey>,
        given: GivenPasskey,
        purposes: &'static [ChallengePurpose],
    ) -> Result<UsedPasskey, SignInError> {
        let (id, now) = (given.challenge, self.clock.now());
        let taken = self
            .store
            .write(move |tx| usecases::take_challenge(tx, id, purposes, now));
        let taken: Result<_, StoreError> = taken.await;
        let challenge = taken.map_err(UseCaseError::from)?;
        let challenge = challenge.ok_or(PasskeyRefused::Expired)?;
        let passkey = passkey.ok_or(PasskeyRefused::Unknown)?;
        let site = self.site.as_ref().ok_or(PasskeyRefused::NotHere)?;
        let whose = (&passkey.key, passkey.holder);
        let counter = given.answer.check(site, &challenge, whose);
        Ok(UsedPasskey {
            holder: passkey.holder,
            credential_id: passkey.credential_id,
            counter: counter.map_err(PasskeyRefused::from)?,
        })
    }

    /// Whether this is a new passkey that this person was asked for. Uses the challenge up.
    pub async fn new_passkey(
        &self,
        holder: Person,
        challenge: ChallengeId,
        given: GivenRegistration,
    ) -> Result<NewCredential, SignInError> {
        let now = self.clock.now();
        let taken = self.store.write(move |tx| {
            usecases::take_challenge(tx, challenge, &[ChallengePurpose::Register], now)
        });
        let taken: Result<_, StoreError> = taken.await;
        let taken = taken.map_err(UseCaseError::from)?;
        let challenge = taken.filter(|challenge| challenge.holder == Some(holder));
        let challenge = challenge.ok_or(PasskeyRefused::Expired)?;
        let site = self.site.as_ref().ok_or(PasskeyRefused::NotHere)?;
        let checked = given.check(site, &challenge);
        Ok(checked.map_err(PasskeyRefused::from)?)
    }
}
