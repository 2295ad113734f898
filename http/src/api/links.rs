//! Links that are mailed to developers and workers: confirming an address, choosing a new password.

use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::Post;
use crate::api::response::json::JsonResponse;
use crate::domain::people::password::{REVEALS_ADDRESS, reveals_address};
use crate::domain::rules::TextRule;
use crate::domain::{PersonKind, Secret, Timestamp, accounts};
use crate::limits::{Applicant, ClientAddress};
use crate::sign_in::SignInError;
use crate::store::Tx;
use crate::usecases::{self, UseCaseError};

/// The part of a link after the last slash.
const TOKEN: TextRule = TextRule::plain(1, 200);
const EXAMPLE_TOKEN: &str = "6f1e0d5c4b3a29188776655443322110ffeeddccbbaa99887766554433221100";

pub struct ConfirmEmail {
    token: Secret,
    password: String,
}

impl RequestBody for ConfirmEmail {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let token = fields.text("token", &TOKEN);
        let password = fields
            .doc("The one that you signed up with.")
            .present_password("password");
        Some(Self {
            token: Secret::presented(&token?),
            password: password?,
        })
    }
}

pub struct AskForReset {
    email: String,
}

impl RequestBody for AskForReset {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let email = fields.text("email", &accounts::EMAIL);
        Some(Self { email: email? })
    }
}

pub struct ResetPassword {
    token: Secret,
    password: String,
}

impl RequestBody for ResetPassword {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let token = fields.text("token", &TOKEN);
        let password = fields.password("password", None);
        Some(Self {
            token: Secret::presented(&token?),
            password: password?,
        })
    }
}

request_bodies! {
    ConfirmEmail = json!({"token": EXAMPLE_TOKEN, "password": "correct horse battery"});
    AskForReset = json!({"email": "ada@example.com"});
    ResetPassword = json!({"token": EXAMPLE_TOKEN, "password": "staple battery horse"});
}

/// An address, and whether it is confirmed.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"email": "ada@example.com", "confirmed": true}))]
pub struct Confirmation {
    pub email: String,
    pub confirmed: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"accepted": true}))]
pub struct ResetAsked {
    accepted: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"password_set": true}))]
pub struct PasswordSet {
    password_set: bool,
}

impl PasswordSet {
    pub fn json() -> Result<JsonResponse, ApiError> {
        JsonResponse::ok(&Self { password_set: true })
    }
}

pub async fn confirm(
    app: &App,
    kind: PersonKind,
    client: ClientAddress,
    post: &Post,
) -> Result<JsonResponse, ApiError> {
    let ConfirmEmail { token, password } = post.read()?;
    let sign_ins = app.sign_ins();
    let confirmed = sign_ins.confirm((token, password), Some(kind), client);
    let (email, _) = confirmed.await?;
    JsonResponse::ok(&Confirmation {
        email,
        confirmed: true,
    })
}

impl From<SignInError> for ApiError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::TooMany(too_many) => too_many.into(),
            SignInError::Busy => Self::Busy,
            SignInError::CodeRequired(_) => UseCaseError::SecondFactorRequired.into(),
            SignInError::CodeRefused(..) | SignInError::Passkey(_) => {
                UseCaseError::WrongCode.into()
            }
            SignInError::Refused(error) => error.into(),
        }
    }
}

/// A use case that has a link sent to whoever has an address, if anybody has.
type RequestReset = fn(&mut Tx<'_>, &str, Timestamp) -> Result<(), UseCaseError>;

pub async fn ask_for_reset(
    app: &App,
    request: RequestReset,
    client: ClientAddress,
    post: &Post,
) -> Result<JsonResponse, ApiError> {
    let AskForReset { email } = post.read()?;
    app.sign_in_limits.count_sign_up(client)?;
    let clock = app.clock.clone();
    app.store
        .write(move |tx| request(tx, &email, clock.now()))
        .await?;
    JsonResponse::ok(&ResetAsked { accepted: true })
}

pub async fn reset(
    app: &App,
    kind: PersonKind,
    client: ClientAddress,
    post: &Post,
) -> Result<JsonResponse, ApiError> {
    let ResetPassword { token, password } = post.read()?;
    let (shown, now) = (token.clone(), app.clock.now());
    let link = app
        .store
        .read(move |tx| usecases::password_link(tx, &shown, now))
        .await?;
    if link.kind != kind {
        return Err(UseCaseError::LinkExpired.into());
    }
    expect_no_address(&password, &link.email)?;
    let hash = app.passwords.hash(password, Applicant::known(client));
    let (hash, clock) = (hash.await?, app.clock.clone());
    app.store
        .write(move |tx| usecases::set_password(tx, &token, &hash, clock.now()))
        .await?;
    PasswordSet::json()
}

pub fn expect_no_address(password: &str, email: &str) -> Result<(), ApiError> {
    match reveals_address(password, email) {
        true => Err(ApiError::invalid("password", REVEALS_ADDRESS)),
        false => Ok(()),
    }
}
