//! Links that are mailed to developers: confirming an address, choosing a new password.

use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::domain::people::password::{REVEALS_ADDRESS, reveals_address};
use crate::domain::rules::TextRule;
use crate::domain::{Account, Secret, accounts};
use crate::limits::ClientAddress;
use crate::store::StoreError;
use crate::usecases::{self, UseCaseError};
use crate::views::to_json;

/// The part of a link after the last slash.
const TOKEN: TextRule = TextRule::plain(1, 200);
const EXAMPLE_TOKEN: &str = "6f1e0d5c4b3a29188776655443322110ffeeddccbbaa99887766554433221100";

pub struct ConfirmEmail {
    token: Secret,
}

impl RequestBody for ConfirmEmail {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let token = fields.text("token", &TOKEN);
        Some(Self {
            token: Secret::presented(&token?),
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
    ConfirmEmail = json!({"token": EXAMPLE_TOKEN});
    AskForReset = json!({"email": "ada@example.com"});
    ResetPassword = json!({"token": EXAMPLE_TOKEN, "password": "correct horse battery"});
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"email": "ada@example.com", "confirmed": true}))]
pub struct Confirmation {
    email: String,
    confirmed: bool,
}

impl Confirmation {
    fn json(account: &Account) -> Result<String, StoreError> {
        to_json(&Self {
            email: account.email.clone(),
            confirmed: account.email_confirmed,
        })
    }
}

/// Confirm an e-mail address
///
/// With the token of a link that was mailed to it.
#[utoipa::path(
    post, path = "/v1/accounts/confirm", tag = "Account", operation_id = "confirmEmail",
    request_body = ConfirmEmail,
    responses((status = 200, description = "The address is confirmed", body = Confirmation),
        groups::Anybody, groups::Body, errors::EmailTaken, errors::LinkExpired)
)]
pub async fn confirm(State(app): State<App>, post: Post) -> Result<JsonResponse, ApiError> {
    let ConfirmEmail { token } = post.read()?;
    let clock = app.clock.clone();
    let confirmed = app
        .store
        .write(move |tx| usecases::confirm_email(tx, &token, clock.now()));
    JsonResponse::ok(&Confirmation {
        email: confirmed.await?,
        confirmed: true,
    })
}

/// Send the confirmation again
///
/// To the address of the account, unless it is confirmed or has three links that are still good.
#[utoipa::path(
    post, path = "/v1/account/confirmation", tag = "Account", operation_id = "sendConfirmation",
    params(IdempotencyKeyHeader),
    responses((status = 200, description = "The address, and whether it is confirmed", body = Confirmation),
        groups::Developer, groups::Body, groups::Idempotency)
)]
pub async fn send_again(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let id = caller.owner().account;
    Idempotent::new(&app, caller.requester(), post)
        .run(
            move |tx, now| {
                usecases::request_confirmation(tx, id, now)?;
                tx.account(id)?.ok_or(UseCaseError::Unauthorized)
            },
            Confirmation::json,
        )
        .await
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"accepted": true}))]
pub struct ResetAsked {
    accepted: bool,
}

/// Ask for a new password
///
/// If the address is confirmed for an account, a link is mailed to it that works once, for 30 minutes.
/// The answer is the same for every address.
#[utoipa::path(
    post, path = "/v1/accounts/password_reset", tag = "Account", operation_id = "askForPasswordReset",
    request_body = AskForReset,
    responses((status = 200, description = "The request is accepted", body = ResetAsked),
        groups::Anybody, groups::Body)
)]
pub async fn ask_for_reset(
    State(app): State<App>,
    client: ClientAddress,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let AskForReset { email } = post.read()?;
    app.sign_in_limits.count_sign_up(client)?;
    let clock = app.clock.clone();
    app.store
        .write(move |tx| usecases::request_reset(tx, &email, clock.now()))
        .await?;
    JsonResponse::ok(&ResetAsked { accepted: true })
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"password_set": true}))]
pub struct PasswordSet {
    password_set: bool,
}

/// Set a new password
///
/// With the token of a link from a reset or an invitation. Ends all sessions of the account.
#[utoipa::path(
    post, path = "/v1/accounts/password_reset/confirm", tag = "Account", operation_id = "resetPassword",
    request_body = ResetPassword,
    responses((status = 200, description = "The password is set", body = PasswordSet),
        groups::Anybody, groups::Body, errors::EmailTaken, errors::LinkExpired)
)]
pub async fn reset(State(app): State<App>, post: Post) -> Result<JsonResponse, ApiError> {
    let ResetPassword { token, password } = post.read()?;
    let (shown, now) = (token.clone(), app.clock.now());
    let link = app
        .store
        .read(move |tx| usecases::password_link(tx, &shown, now))
        .await?;
    if reveals_address(&password, &link.email) {
        return Err(ApiError::invalid("password", REVEALS_ADDRESS));
    }
    let (hash, clock) = (app.passwords.hash(password).await?, app.clock.clone());
    app.store
        .write(move |tx| usecases::set_password(tx, &token, &hash, clock.now()))
        .await?;
    JsonResponse::ok(&PasswordSet { password_set: true })
}
