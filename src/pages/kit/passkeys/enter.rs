//! Signing in with a passkey.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Words;
use crate::api::inside::Refused;
use crate::domain::second_factor::passkeys::CHALLENGE_LIFE;
use crate::domain::{ChallengeId, ChallengePurpose, GivenAssertion, Person, RelyingParty};
use crate::pages::kit::form::Form;
use crate::pages::state::Pages;
use crate::sign_in::{GivenPasskey, PasskeyRefused};
use crate::store::StoreError;
use crate::usecases::{self, NewChallenge, UseCaseError};

/// The button with which a passkey is used, for a template.
#[derive(Clone, Debug)]
pub struct Button {
    /// Where passkeys work. None if they work nowhere here.
    pub site: Option<String>,
    /// A challenge for somebody whose password was right. Without one the script asks for it.
    pub given: Option<String>,
}

impl Button {
    /// For anybody.
    pub fn new(pages: &Pages) -> Self {
        Self {
            site: site(pages),
            given: None,
        }
    }

    /// For somebody whose password or key was right. None if they have no passkey.
    pub async fn second_factor(pages: &Pages, person: Person) -> Result<Option<Self>, Refused> {
        let Some(site) = &pages.sign_ins.site else {
            return Ok(None);
        };
        let now = pages.app.clock.now();
        let made = pages.app.store.write(move |tx| {
            let passkeys = tx.passkeys_of(person)?;
            if passkeys.is_empty() {
                return Ok(None);
            }
            let ids: Vec<_> = passkeys.into_iter().map(|key| key.credential_id).collect();
            let purpose = ChallengePurpose::SecondFactor;
            let challenge = usecases::new_challenge(tx, purpose, Some(person), now)?;
            Ok::<_, StoreError>(Some((challenge, ids)))
        });
        let made = made.await.map_err(UseCaseError::from)?;
        Ok(made.map(|(challenge, ids)| Self {
            site: Some(site.origin.clone()),
            given: Some(asked(site, &challenge, &ids).to_string()),
        }))
    }
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
