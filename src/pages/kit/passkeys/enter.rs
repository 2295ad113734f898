//! Signing in with a passkey, and giving one again before something dangerous.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Words;
use crate::api::inside::Refused;
use crate::domain::second_factor::passkeys::CHALLENGE_LIFE;
use crate::domain::{ChallengeId, ChallengePurpose, GivenAssertion, Person, RelyingParty, Session};
use crate::limits::ClientAddress;
use crate::pages::kit::form::Form;
use crate::pages::state::Pages;
use crate::sign_in::{GivenPasskey, PasskeyRefused, SignInError};
use crate::store::StoreError;
use crate::usecases::{self, NewChallenge, UseCaseError};

/// The button with which a passkey is used, for a template.
#[derive(Clone, Debug)]
pub struct Button {
    /// Where passkeys work. None if they work nowhere here.
    pub site: Option<String>,
    /// A challenge for somebody whose password was right. Without one the script asks for it.
    pub given: Option<String>,
    /// Whether the passkey alone signs in, as the button says.
    pub signs_in: bool,
    /// Fields of a form that waits for the passkey.
    pub waiting: Vec<(String, String)>,
}

/// What somebody who has passkeys must answer: a challenge, and the ids of the passkeys.
type Asked = (NewChallenge, Vec<String>);

impl Button {
    /// For anybody.
    pub fn new(pages: &Pages) -> Self {
        Self {
            site: site(pages),
            given: None,
            signs_in: true,
            waiting: Vec::new(),
        }
    }

    /// For somebody whose password or key was right. None if they have no passkey.
    pub async fn second_factor(pages: &Pages, person: Person) -> Result<Option<Self>, Refused> {
        let Some(site) = &pages.sign_ins.site else {
            return Ok(None);
        };
        let made = for_owner(pages, person, ChallengePurpose::SecondFactor).await?;
        Ok(made.map(|(challenge, ids)| Self {
            site: Some(site.origin.clone()),
            given: Some(asked(site, &challenge, &ids).to_string()),
            signs_in: false,
            waiting: Vec::new(),
        }))
    }

    /// For somebody who is signed in. None if they have no passkey.
    pub async fn again(pages: &Pages, person: Person) -> Result<Option<Self>, Refused> {
        let has_one = pages.app.store.read(move |tx| tx.passkey_places(person));
        let has_one = !has_one.await.map_err(UseCaseError::from)?.is_empty();
        Ok((has_one && pages.sign_ins.site.is_some()).then(|| Self {
            signs_in: false,
            ..Self::new(pages)
        }))
    }
}

/// None if this person has no passkey.
async fn for_owner(
    pages: &Pages,
    person: Person,
    purpose: ChallengePurpose,
) -> Result<Option<Asked>, Refused> {
    let now = pages.app.clock.now();
    let made = pages.app.store.write(move |tx| {
        let passkeys = tx.passkeys_of(person)?;
        if passkeys.is_empty() {
            return Ok(None);
        }
        let ids: Vec<_> = passkeys.into_iter().map(|key| key.credential_id).collect();
        let challenge = usecases::new_challenge(tx, purpose, Some(person), now)?;
        Ok::<_, StoreError>(Some((challenge, ids)))
    });
    Ok(made.await.map_err(UseCaseError::from)?)
}

pub fn site(pages: &Pages) -> Option<String> {
    let site = pages.sign_ins.site.as_ref();
    site.map(|site| site.origin.clone())
}

/// What the script hands to the browser.
fn asked(site: &RelyingParty, challenge: &NewChallenge, credentials: &[String]) -> Value {
    json!({
        "challenge_id": challenge.id.to_string(),
        "challenge": challenge.text,
        "rpId": site.id,
        "allowCredentials": credentials,
        "timeout": CHALLENGE_LIFE.as_millis() as u64,
    })
}

/// A challenge for whoever wants to sign in. The passkey tells who it is.
pub async fn options(pages: &Pages) -> Result<Response, Refused> {
    let Some(site) = &pages.sign_ins.site else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let now = pages.app.clock.now();
    let made = pages
        .app
        .store
        .write(move |tx| usecases::new_challenge(tx, ChallengePurpose::SignIn, None, now));
    let made = made.await.map_err(UseCaseError::from)?;
    Ok(as_json(&asked(site, &made, &[])))
}

/// A challenge for somebody who is signed in, and for this alone.
pub async fn options_again(pages: &Pages, person: Person) -> Result<Response, Refused> {
    let made = for_owner(pages, person, ChallengePurpose::Again).await?;
    let (Some(site), Some((challenge, ids))) = (&pages.sign_ins.site, made) else {
        return Err(Refused::not_found());
    };
    Ok(as_json(&asked(site, &challenge, &ids)))
}

/// Somebody who is signed in has answered it.
pub async fn again(
    pages: &Pages,
    session: &Session,
    (form, client): (&Form, ClientAddress),
) -> Result<(), SignInError> {
    let given = given(form)?;
    pages.sign_ins.passkey_again(session, given, client).await
}

pub fn as_json(value: &Value) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, value.to_string()).into_response()
}

/// What the script has filled in.
pub fn given(form: &Form) -> Result<GivenPasskey, PasskeyRefused> {
    let fields = ["client_data", "authenticator_data", "signature"].map(|name| form.get(name));
    let answer = GivenAssertion::read(form.get("credential_id"), fields, form.get("user_handle"));
    let challenge = ChallengeId::parse(form.get("challenge_id"));
    match (challenge, answer) {
        (Some(challenge), Some(answer)) => Ok(GivenPasskey { challenge, answer }),
        _ => Err(PasskeyRefused::Incomplete),
    }
}

/// Why a passkey was not taken, in words. The reason is for the log.
pub fn told(words: &Words, refused: PasskeyRefused) -> &'static str {
    tracing::info!(reason = %refused, "a passkey was refused");
    match refused {
        PasskeyRefused::Expired => words.expired,
        PasskeyRefused::Unknown => words.unknown,
        PasskeyRefused::NotHere => words.no_site,
        PasskeyRefused::Incomplete => words.failed,
        PasskeyRefused::CounterWentBack | PasskeyRefused::NotAccepted(_) => words.not_accepted,
    }
}
