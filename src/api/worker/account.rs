//! A worker's e-mail address and password: confirm, change, reset.

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::api::worker::session::{ANY_PASSWORD, unhashed};
use crate::domain::people::password::{REVEALS_ADDRESS, reveals_address};
use crate::domain::rules::TextRule;
use crate::domain::{PersonKind, Secret, Worker, accounts};
use crate::limits::ClientAddress;
use crate::usecases::{self, UseCaseError};
use crate::views::to_json;

/// The part of a link after the last slash.
const TOKEN: TextRule = TextRule::plain(1, 200);
const EXAMPLE_TOKEN: &str = "6f1e0d5c4b3a29188776655443322110ffeeddccbbaa99887766554433221100";

pub struct ConfirmWorkerEmail(Secret);

impl RequestBody for ConfirmWorkerEmail {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let token = fields.text("token", &TOKEN)?;
        Some(Self(Secret::presented(&token)))
    }
}

pub struct AskForWorkerReset {
    email: String,
}

impl RequestBody for AskForWorkerReset {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let email = fields.text("email", &accounts::EMAIL);
        email.map(|email| Self { email })
    }
}

pub struct ResetWorkerPassword {
    token: Secret,
    password: String,
}

impl RequestBody for ResetWorkerPassword {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let token = fields.text("token", &TOKEN);
        let password = fields.password("password", None);
        Some(Self {
            token: Secret::presented(&token?),
            password: password?,
        })
    }
}

pub struct ChangeWorkerPassword {
    current: String,
    password: String,
}

impl RequestBody for ChangeWorkerPassword {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let current = fields.text("current_password", &ANY_PASSWORD);
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
        let password = fields.text("password", &ANY_PASSWORD);
        let email = fields.text("email", &accounts::EMAIL);
        Some(Self {
            password: password?,
            email: email?,
        })
    }
}

request_bodies! {
    ConfirmWorkerEmail = json!({"token": EXAMPLE_TOKEN});
    AskForWorkerReset = json!({"email": "grace@example.com"});
    ResetWorkerPassword = json!({"token": EXAMPLE_TOKEN, "password": "correct horse battery"});
    ChangeWorkerPassword = json!({
        "current_password": "correct horse battery", "password": "staple battery horse",
    });
    ChangeWorkerEmail = json!({"password": "correct horse battery", "email": "hopper@example.com"});
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"email": "grace@example.com", "confirmed": true}))]
pub struct WorkerEmail {
    email: String,
    confirmed: bool,
}

impl WorkerEmail {
    fn of(worker: &Worker) -> Self {
        Self {
            email: worker.email.clone(),
            confirmed: worker.email_confirmed,
        }
    }
}

/// Confirm an e-mail address
///
/// With the token of a link that was mailed to it, at sign-up or for a change.
#[utoipa::path(
    post, path = "/v1/workers/confirm", tag = "Workers", operation_id = "confirmWorkerEmail",
    request_body = ConfirmWorkerEmail,
    responses((status = 200, description = "The address is confirmed", body = WorkerEmail),
        groups::Anybody, groups::Body, errors::EmailTaken, errors::LinkExpired)
)]
pub async fn confirm(State(app): State<App>, post: Post) -> Result<JsonResponse, ApiError> {
    let ConfirmWorkerEmail(token) = post.read()?;
    let clock = app.clock.clone();
    let confirmed = app
        .store
        .write(move |tx| usecases::confirm_worker_email(tx, &token, clock.now()));
    JsonResponse::ok(&WorkerEmail {
        email: confirmed.await?,
        confirmed: true,
    })
}

/// Send the confirmation again
///
/// To your address, unless it is confirmed or has three links that are still good.
#[utoipa::path(
    post, path = "/v1/worker/confirmation", tag = "Workers",
    operation_id = "sendWorkerConfirmation", params(IdempotencyKeyHeader),
    responses((status = 200, description = "The address, and whether it is confirmed", body = WorkerEmail),
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
            |worker: &Worker| to_json(&WorkerEmail::of(worker)),
        )
        .await
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"accepted": true}))]
pub struct WorkerResetAsked {
    accepted: bool,
}

/// Ask for a new password
///
/// If a worker has this confirmed address, a link is mailed to it that works once, for 30 minutes. The
/// answer is the same for every address.
#[utoipa::path(
    post, path = "/v1/workers/password_reset", tag = "Workers", operation_id = "askForWorkerReset",
    request_body = AskForWorkerReset,
    responses((status = 200, description = "The request is accepted", body = WorkerResetAsked),
        groups::Anybody, groups::Body)
)]
pub async fn ask_for_reset(
    State(app): State<App>,
    client: ClientAddress,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let AskForWorkerReset { email } = post.read()?;
    app.sign_in_limits.count_sign_up(client)?;
    let clock = app.clock.clone();
    app.store
        .write(move |tx| usecases::request_worker_reset(tx, &email, clock.now()))
        .await?;
    JsonResponse::ok(&WorkerResetAsked { accepted: true })
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"password_set": true}))]
pub struct WorkerPasswordSet {
    password_set: bool,
}

/// Set a new password
///
/// With the token of a link that you asked for. Revokes all your tokens.
#[utoipa::path(
    post, path = "/v1/workers/password_reset/confirm", tag = "Workers",
    operation_id = "resetWorkerPassword", request_body = ResetWorkerPassword,
    responses((status = 200, description = "The password is set", body = WorkerPasswordSet),
        groups::Anybody, groups::Body, errors::LinkExpired)
)]
pub async fn reset(State(app): State<App>, post: Post) -> Result<JsonResponse, ApiError> {
    let ResetWorkerPassword { token, password } = post.read()?;
    let (shown, now) = (token.clone(), app.clock.now());
    let email = app
        .store
        .read(move |tx| usecases::worker_reset_link(tx, &shown, now))
        .await?;
    expect_no_address(&password, &email)?;
    let hash = app.passwords.hash(password).await.map_err(unhashed)?;
    let clock = app.clock.clone();
    app.store
        .write(move |tx| usecases::reset_worker_password(tx, &token, &hash, clock.now()))
        .await?;
    JsonResponse::ok(&WorkerPasswordSet { password_set: true })
}

/// Change your password
///
/// Revokes all your tokens but the one of this request.
#[utoipa::path(
    put, path = "/v1/worker/password", tag = "Workers", operation_id = "changeWorkerPassword",
    request_body = ChangeWorkerPassword,
    responses((status = 200, description = "The password is set", body = WorkerPasswordSet),
        groups::Worker, groups::Body, errors::InvalidCredentials)
)]
pub async fn change_password(
    State(app): State<App>,
    client: ClientAddress,
    caller: WorkerCaller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let body = body::required_json(request, app.timeouts).await?;
    let ChangeWorkerPassword { current, password } = body;
    expect_no_address(&password, &caller.worker.email)?;
    let checked = check_password(&app, client, &caller.worker, current).await?;
    let hash = app.passwords.hash(password).await.map_err(unhashed)?;
    let (id, token, clock) = (caller.worker.id, caller.token, app.clock.clone());
    app.store
        .write(move |tx| {
            let hashes = (checked.as_str(), hash.as_str());
            usecases::change_worker_password(tx, id, hashes, &token, clock.now())
        })
        .await?;
    JsonResponse::ok(&WorkerPasswordSet { password_set: true })
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
    let body = body::required_json(request, app.timeouts).await?;
    let ChangeWorkerEmail { password, email } = body;
    check_password(&app, client, &caller.worker, password).await?;
    let (id, sends_mail) = (caller.worker.id, app.sends_mail);
    let (clock, wanted) = (app.clock.clone(), email.clone());
    let changed = app
        .store
        .write(move |tx| usecases::change_worker_email(tx, id, &wanted, sends_mail, clock.now()))
        .await?;
    JsonResponse::ok(&WorkerEmailChange {
        email: changed.email,
        new_email: sends_mail.then_some(email),
    })
}

/// Checks the password of a worker, with the limits of sign-ins, so that a stolen token is no way to guess
/// it. Returns the hash that it matched.
pub(super) async fn check_password(
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
            let right = app.passwords.verify(password, stored.clone()).await;
            right
                .map_err(unhashed)
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

fn expect_no_address(password: &str, email: &str) -> Result<(), ApiError> {
    match reveals_address(password, email) {
        true => Err(ApiError::invalid("password", REVEALS_ADDRESS)),
        false => Ok(()),
    }
}
