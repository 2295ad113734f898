//! A worker's e-mail address and password: confirm, change, reset.

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::links::{
    self, AskForReset, ConfirmEmail, Confirmation, PasswordSet, ResetAsked, ResetPassword,
    expect_no_address,
};
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::domain::{PersonKind, Worker, accounts};
use crate::limits::{Applicant, ClientAddress};
use crate::store::StoreError;
use crate::usecases::{self, UseCaseError};
use crate::views::to_json;

pub struct ChangeWorkerPassword {
    current: String,
    password: String,
}

impl RequestBody for ChangeWorkerPassword {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let current = fields.present_password("current_password");
        let password = fields.password("password", None);
        Some(Self {
            current: current?,
            password: password?,
        })
    }
}

pub struct ChangeWorkerEmail {
    password: String,
    email: String,
}

impl RequestBody for ChangeWorkerEmail {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let password = fields.present_password("password");
        let email = fields.text("email", &accounts::EMAIL);
        Some(Self {
            password: password?,
            email: email?,
        })
    }
}

request_bodies! {
    ChangeWorkerPassword = json!({
        "current_password": "correct horse battery", "password": "staple battery horse",
    });
    ChangeWorkerEmail = json!({"password": "correct horse battery", "email": "hopper@example.com"});
}

/// Confirm an e-mail address
///
/// With the token of a link that was mailed to it, at sign-up or for a change, and your password. The link
/// shows that you read the mail of the address, the password that the account is yours: at sign-up, any link
/// that was mailed to the address will do.
#[utoipa::path(
    post, path = "/v1/workers/confirm", tag = "Workers", operation_id = "confirmWorkerEmail",
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
    links::confirm(&app, PersonKind::Worker, client, &post).await
}

/// Send the confirmation again
///
/// To your address, unless it is confirmed or got three links in the last 72 hours.
#[utoipa::path(
    post, path = "/v1/worker/confirmation", tag = "Workers",
    operation_id = "sendWorkerConfirmation", params(IdempotencyKeyHeader),
    responses((status = 200, description = "The address, and whether it is confirmed", body = Confirmation),
        groups::Worker, groups::Body, groups::Idempotency)
)]
pub async fn send_confirmation(
    State(app): State<App>,
    caller: WorkerCaller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let id = caller.worker.id;
    Idempotent::new(&app, caller.requester(), post)
        .run(
            move |tx, now| {
                let worker = tx.worker(id)?.ok_or(UseCaseError::Unauthorized)?;
                usecases::request_worker_confirmation(tx, id, now)?;
                Ok(worker)
            },
            shown,
        )
        .await
}

fn shown(worker: &Worker) -> Result<String, StoreError> {
    to_json(&Confirmation {
        email: worker.email.clone(),
        confirmed: worker.email_confirmed,
    })
}

/// Ask for a new password
///
/// If a worker has this confirmed address, a link is mailed to it that works once, for 30 minutes. The
/// answer is the same for every address.
#[utoipa::path(
    post, path = "/v1/workers/password_reset", tag = "Workers", operation_id = "askForWorkerReset",
    request_body = AskForReset,
    responses((status = 200, description = "The request is accepted", body = ResetAsked),
        groups::Anybody, groups::Body)
)]
pub async fn ask_for_reset(
    State(app): State<App>,
    client: ClientAddress,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    links::ask_for_reset(&app, usecases::request_worker_reset, client, &post).await
}

/// Set a new password
///
/// With the token of a link that you asked for. Revokes all your tokens.
#[utoipa::path(
    post, path = "/v1/workers/password_reset/confirm", tag = "Workers",
    operation_id = "resetWorkerPassword", request_body = ResetPassword,
    responses((status = 200, description = "The password is set", body = PasswordSet),
        groups::Anybody, groups::Body, errors::LinkExpired)
)]
pub async fn reset(
    State(app): State<App>,
    client: ClientAddress,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    links::reset(&app, PersonKind::Worker, client, &post).await
}

/// Change your password
///
/// Revokes all your tokens but the one of this request.
#[utoipa::path(
    put, path = "/v1/worker/password", tag = "Workers", operation_id = "changeWorkerPassword",
    request_body = ChangeWorkerPassword,
    responses((status = 200, description = "The password is set", body = PasswordSet),
        groups::Worker, groups::Body, errors::InvalidCredentials)
)]
pub async fn change_password(
    State(app): State<App>,
    client: ClientAddress,
    caller: WorkerCaller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let body = body::required_json(request, &app).await?;
    let ChangeWorkerPassword { current, password } = body;
    expect_no_address(&password, &caller.worker.email)?;
    let checked = check_password(&app, client, &caller.worker, current).await?;
    let hash = app
        .passwords
        .hash(password, Applicant::known(client))
        .await?;
    let (id, token, clock) = (caller.worker.id, caller.token, app.clock.clone());
    app.store
        .write(move |tx| {
            let hashes = (checked.as_str(), hash.as_str());
            usecases::change_worker_password(tx, id, hashes, &token, clock.now())
        })
        .await?;
    PasswordSet::json()
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"email": "grace@example.com", "new_email": "hopper@example.com"}))]
pub struct WorkerEmailChange {
    /// Your address at this moment.
    email: String,
    /// The address that waits to be confirmed by the link that was mailed to it. Null if no mail server is
    /// set: then the change is made.
    #[schema(required)]
    new_email: Option<String>,
}

/// Change your e-mail address
///
/// The new address gets a link; once you follow it, the address is changed, and the former one is told.
#[utoipa::path(
    put, path = "/v1/worker/email", tag = "Workers", operation_id = "changeWorkerEmail",
    request_body = ChangeWorkerEmail,
    responses((status = 200, description = "The address, and the one to be confirmed", body = WorkerEmailChange),
        groups::Worker, groups::Body, errors::InvalidCredentials, errors::EmailTaken)
)]
pub async fn change_email(
    State(app): State<App>,
    client: ClientAddress,
    caller: WorkerCaller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let body = body::required_json(request, &app).await?;
    let ChangeWorkerEmail { password, email } = body;
    let checked = check_password(&app, client, &caller.worker, password).await?;
    let (id, sends_mail) = (caller.worker.id, app.sends_mail);
    let (clock, wanted) = (app.clock.clone(), email.clone());
    let changed = app.store.write(move |tx| {
        usecases::change_worker_email(tx, (id, &checked), &wanted, sends_mail, clock.now())
    });
    let changed = changed.await?;
    JsonResponse::ok(&WorkerEmailChange {
        email: changed.email,
        new_email: sends_mail.then_some(email),
    })
}

/// Checks the password of a worker, with the limits of sign-ins, so that a stolen token is no way to guess
/// it. Returns the hash that it matched.
pub async fn check_password(
    app: &App,
    client: ClientAddress,
    worker: &Worker,
    password: String,
) -> Result<String, ApiError> {
    // An address that is only claimed may be somebody else's: this must not count for them.
    let counted = match worker.email_confirmed {
        true => worker.email.clone(),
        false => worker.id.to_string(),
    };
    let attempt = app
        .sign_in_limits
        .begin((PersonKind::Worker, &counted), client)?;
    let id = worker.id;
    let stored = app.store.read(move |tx| tx.worker_password(id)).await;
    let right = match stored {
        Ok(stored) => {
            let applicant = Applicant::known(client);
            let right = app
                .passwords
                .verify(password, stored.clone(), applicant)
                .await;
            right
                .map_err(ApiError::from)
                .map(|right| stored.filter(|_| right))
        }
        Err(error) => Err(ApiError::from(error)),
    };
    match right {
        Ok(Some(hash)) => {
            app.sign_in_limits.succeeded(attempt);
            Ok(hash)
        }
        Ok(None) => Err(UseCaseError::WrongPassword.into()),
        Err(error) => {
            app.sign_in_limits.give_back(attempt);
            Err(error)
        }
    }
}
