//! Passkeys on the pages, the same for developers, workers and admins: a list of one's own, and a button to sign in.

pub mod enter;
mod words;

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use crate::ambient;
use crate::api::inside::Refused;
use crate::domain::second_factor::passkeys::{
    Algorithm, MAX_FOR_PERSON, NAME, encoded, user_handle,
};
use crate::domain::{
    Actor, ChallengeId, ChallengePurpose, GivenRegistration, Passkey, PasskeyId, Person,
    RecoveryCodes, Secret, Timestamp,
};
use crate::pages::kit::form::Form;
use crate::pages::kit::words::When;
use crate::pages::state::Pages;
use crate::sign_in::{PasskeyRefused, SignInError};
use crate::store::StoreError;
use crate::usecases::{self, AddedPasskey, NewPasskey, UseCaseError};

pub use enter::{Button, told};
pub use words::{ENGLISH, FOR_ADMINS, Words};

/// Whoever looks after their passkeys.
pub struct Owner<'a> {
    pub pages: &'a Pages,
    pub person: Person,
    /// What the browser shows beside a passkey: whose it is.
    pub label: String,
    pub by: Actor,
    /// The token of the session, and whether a second factor was given in it.
    pub session: (&'a Secret, bool),
    pub words: &'static Words,
    /// The page of the passkeys.
    pub base: &'static str,
}

/// The list, for the template `kit/passkeys.html`.
pub struct Manage {
    pub words: &'static Words,
    pub base: &'static str,
    /// Where passkeys work. None if they work nowhere here.
    pub site: Option<String>,
    pub listed: Vec<Shown>,
    pub form: Form,
    /// False in a session from before the second factor.
    pub may_change: bool,
    pub is_full: bool,
    /// Whether one must be added to go on.
    pub is_required: bool,
    pub codes_left: i64,
    /// Shown once, right after they were made.
    pub codes: Vec<String>,
}

/// A passkey, for its owner to recognise.
pub struct Shown {
    pub id: String,
    pub name: String,
    pub made: When,
    pub used: Option<When>,
}

impl Shown {
    fn new(passkey: &Passkey, when: impl Fn(Timestamp) -> When) -> Self {
        Self {
            id: passkey.id.to_string(),
            name: passkey.name.clone(),
            made: when(passkey.created_at),
            used: passkey.last_used_at.map(when),
        }
    }
}

/// What became of a form: the recovery codes to show, or what is wrong.
pub type Done = Result<Vec<String>, (StatusCode, Form)>;

impl Owner<'_> {
    /// `when` says a moment in the language of the page.
    pub async fn manage(
        &self,
        (form, codes): (Form, Vec<String>),
        when: impl Fn(Timestamp) -> When,
    ) -> Result<Manage, Refused> {
        let (person, given) = (self.person, self.session.1);
        let read = self.pages.app.store.read(move |tx| {
            let has_factor = usecases::has_factor(tx, person)?;
            let left = tx.count_recovery_codes(person)?;
            Ok::<_, StoreError>((tx.passkeys_of(person)?, has_factor, left))
        });
        let (passkeys, has_factor, codes_left) = read.await.map_err(UseCaseError::from)?;
        Ok(Manage {
            words: self.words,
            base: self.base,
            site: enter::site(self.pages),
            listed: passkeys.iter().map(|key| Shown::new(key, &when)).collect(),
            form,
            may_change: given || !has_factor,
            is_full: passkeys.len() >= MAX_FOR_PERSON,
            is_required: !has_factor && self.pages.app.required_factor.of(person),
            codes_left,
            codes,
        })
    }

    /// What the script hands to the browser to make a passkey. `again` is where the password is asked for first, if it
    /// was given too long ago.
    pub async fn options(&self, again: Option<&str>) -> Result<Response, Refused> {
        if let Some(again) = again {
            return Ok(enter::as_json(&json!({"again": again})));
        }
        let (person, given, now) = (self.person, self.session.1, self.pages.app.clock.now());
        let made = self.pages.app.store.write(move |tx| {
            usecases::expect_given(tx, person, given)?;
            let purpose = ChallengePurpose::Register;
            let challenge = usecases::new_challenge(tx, purpose, Some(person), now)?;
            Ok::<_, UseCaseError>((challenge, tx.passkeys_of(person)?))
        });
        let (challenge, passkeys) = made.await?;
        let known: Vec<_> = passkeys.into_iter().map(|key| key.credential_id).collect();
        let mut options = self.creation();
        options["challenge_id"] = challenge.id.to_string().into();
        options["challenge"] = challenge.text.into();
        options["excludeCredentials"] = known.into();
        Ok(enter::as_json(&options))
    }

    fn creation(&self) -> Value {
        let site = self.pages.sign_ins.site.as_ref();
        let algorithms = Algorithm::ALL.iter().map(|algorithm| algorithm.number());
        json!({
            "rp": {"id": site.map(|site| site.id.as_str()), "name": "Legwork"},
            "user": {
                "id": encoded(&user_handle(self.person)),
                "name": self.label,
                "displayName": self.label,
            },
            "algorithms": algorithms.collect::<Vec<_>>(),
        })
    }

    /// Keeps what the browser has made.
    pub async fn add(&self, mut form: Form) -> Result<Done, Refused> {
        let Ok(name) = NAME.check(form.get("name").trim()) else {
            form.add_fault("name", self.words.name_fault);
            return Ok(Err((StatusCode::BAD_REQUEST, form)));
        };
        match self.checked(&form).await {
            Ok(credential) => self.keep(NewPasskey { credential, name }, form).await,
            Err(SignInError::Passkey(refused)) => {
                form.problem = Some(told(self.words, refused).to_owned());
                Ok(Err((StatusCode::BAD_REQUEST, form)))
            }
            Err(SignInError::Refused(error)) => Err(error.into()),
            Err(_) => Err(UseCaseError::Unauthorized.into()),
        }
    }

    async fn checked(
        &self,
        form: &Form,
    ) -> Result<crate::domain::second_factor::passkeys::NewCredential, SignInError> {
        let challenge = ChallengeId::parse(form.get("challenge_id"));
        let given = GivenRegistration::read(form.get("client_data"), form.get("attestation"));
        let (Some(challenge), Some(given)) = (challenge, given) else {
            return Err(PasskeyRefused::Incomplete.into());
        };
        let sign_ins = &self.pages.sign_ins;
        sign_ins.new_passkey(self.person, challenge, given).await
    }

    async fn keep(&self, new: NewPasskey, mut form: Form) -> Result<Done, Refused> {
        let codes = RecoveryCodes::new(&ambient::random());
        let (kept, by, clock) = (codes.clone(), self.by.clone(), self.pages.app.clock.clone());
        let (person, token, given) = (self.person, self.session.0.clone(), self.session.1);
        let added = self.pages.app.store.write(move |tx| {
            usecases::expect_given(tx, person, given)?;
            usecases::add_passkey(tx, person, (&new, &kept), (&by, &token), clock.now())
        });
        let problem = match added.await? {
            AddedPasskey::Added { with_codes: true } => return Ok(Ok(codes.shown())),
            AddedPasskey::Added { with_codes: false } => return Ok(Ok(Vec::new())),
            AddedPasskey::Known => self.words.known,
            AddedPasskey::TooMany => self.words.full,
        };
        form.problem = Some(problem.to_owned());
        Ok(Err((StatusCode::CONFLICT, form)))
    }

    /// False if there is no such passkey.
    pub async fn remove(&self, id: &str) -> Result<bool, Refused> {
        let Some(id) = PasskeyId::parse(id) else {
            return Ok(false);
        };
        let (person, given, by) = (self.person, self.session.1, self.by.clone());
        let clock = self.pages.app.clock.clone();
        let removed = self.pages.app.store.write(move |tx| {
            usecases::expect_given(tx, person, given)?;
            usecases::remove_passkey(tx, (person, id), &by, clock.now())
        });
        Ok(removed.await?)
    }

    /// Replaces the recovery codes.
    pub async fn new_codes(&self) -> Result<Vec<String>, Refused> {
        let codes = RecoveryCodes::new(&ambient::random());
        let (kept, by, clock) = (codes.clone(), self.by.clone(), self.pages.app.clock.clone());
        let (person, given) = (self.person, self.session.1);
        let replaced = self.pages.app.store.write(move |tx| {
            usecases::expect_given(tx, person, given)?;
            usecases::replace_recovery_codes(tx, person, &kept, &by, clock.now())
        });
        replaced.await?;
        Ok(codes.shown())
    }
}
