//! Links that are mailed to developers: confirming an address, choosing a new password.

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::links::{
    self, AskForReset, ConfirmEmail, Confirmation, PasswordSet, ResetAsked, ResetPassword,
};
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::domain::{Account, PersonKind};
use crate::limits::ClientAddress;
use crate::store::StoreError;
use crate::usecases::{self, UseCaseError};
use crate::views::to_json;

/// Confirm an e-mail address
///
/// With the token of a link that was mailed to it, and the password that you signed up with. The link shows
/// that you read the mail of the address, the password that the account is yours: any link that was mailed
/// to the address will do.
#[utoipa::path(
    post, path = "/v1/accounts/confirm", tag = "Account", operation_id = "confirmEmail",
    request_body = ConfirmEmail,
    responses((status = 200, description = "The address is confirmed", body = Confirmation),
        groups::Anybody, groups::Body, errors::InvalidCredentials, errors::EmailTaken,
        errors::LinkExpired)
)]
pub async fn confirm(
    State(app): State<App>,
    client: ClientAddress,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    links::confirm(&app, PersonKind::Account, client, &post).await
}

/// Send the confirmation again
///
/// To the address of the account, unless it is confirmed or got three links in the last 72 hours. Without a
/// mail server nothing is sent, and every address counts as confirmed.
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
    let (id, sends_mail) = (caller.owner().account, app.sends_mail);
    Idempotent::new(&app, caller.requester(), post)
        .run(
            move |tx, now| {
                if sends_mail {
                    usecases::request_confirmation(tx, id, now)?;
                }
                let account = tx.account(id)?.ok_or(UseCaseError::Unauthorized)?;
                // Without mail nobody can confirm an address, and every one counts as confirmed.
                Ok(Account {
                    email_confirmed: account.email_confirmed || !sends_mail,
                    ..account
                })
            },
            shown,
        )
        .await
}

fn shown(account: &Account) -> Result<String, StoreError> {
    to_json(&Confirmation {
        email: account.email.clone(),
        confirmed: account.email_confirmed,
    })
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
    links::ask_for_reset(&app, usecases::request_reset, client, &post).await
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
pub async fn reset(
    State(app): State<App>,
    client: ClientAddress,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    links::reset(&app, PersonKind::Account, client, &post).await
}
