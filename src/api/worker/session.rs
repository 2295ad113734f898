//! Sign-up, sign-in and sign-out of workers.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::middleware::client_address::ClientAddress;
use crate::api::openapi::{errors, groups};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::Post;
use crate::api::response::json::JsonResponse;
use crate::api::response::workers::payout_status;
use crate::domain::rules::{ListRule, TextRule};
use crate::domain::workers::{self, DEFAULT_RADIUS_KM};
use crate::domain::{NewWorker, PayoutStatus, Secret, Worker, WorkerId, accounts};
use crate::passwords::HashError;
use crate::store::StoreError;
use crate::usecases::{self, UseCaseError};
use crate::views::examples;
use crate::views::worker::WorkerBody;

#[derive(Serialize, ToSchema)]
#[schema(example = json!(SignedIn::example()))]
pub struct SignedIn {
    worker: WorkerBody,
    /// Good for 30 days; shown this once.
    token: String,
}

impl SignedIn {
    fn of(worker: Worker, payout: PayoutStatus, token: &Secret) -> Self {
        Self {
            worker: WorkerBody::of(worker, payout),
            token: token.expose().to_owned(),
        }
    }

    fn example() -> Self {
        let token = Secret::worker_token(&examples::secret_bytes());
        Self::of(examples::worker(), PayoutStatus::Ready, &token)
    }
}

/// Sign up as a worker
#[utoipa::path(
    post, path = "/v1/workers", tag = "Workers", operation_id = "signUpWorker",
    request_body = SignUp,
    responses((status = 201, description = "The worker, and a token", body = SignedIn),
        groups::Anybody, groups::Body, errors::EmailTaken)
)]
pub async fn sign_up(
    State(app): State<App>,
    client: ClientAddress,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let SignUp {
        worker: new,
        password,
    } = post.read()?;
    app.sign_in_limits.count_sign_up(client)?;
    let password_hash = app.passwords.hash(password).await.map_err(unhashed)?;
    let now = app.clock.now();
    let worker = Worker::sign_up(&new, WorkerId::new(now, &ambient::random()), now);
    let token = Secret::worker_token(&ambient::random());
    let (written, issued) = (worker.clone(), token.clone());
    app.store
        .write(move |tx| usecases::sign_up_worker(tx, &written, &password_hash, &issued, now))
        .await?;
    let signed_in = SignedIn::of(worker, PayoutStatus::None, &token);
    JsonResponse::new(StatusCode::CREATED, &signed_in)
}

fn unhashed(error: HashError) -> ApiError {
    match error {
        HashError::Busy => ApiError::Busy,
        HashError::Failed(reason) => StoreError::Failed(reason).into(),
    }
}

/// A new worker.
pub struct SignUp {
    worker: NewWorker,
    password: String,
}

impl RequestBody for SignUp {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let email = fields.text("email", &accounts::EMAIL);
        let password = fields.password("password", email.as_deref());
        let name = fields.text("name", &accounts::NAME);
        let phone = fields.optional_text("phone", &workers::PHONE);
        let skills = fields.optional_choices("skills", &ListRule::ANY);
        let home = fields.optional_point("home_latitude", "home_longitude");
        let radius_km = fields
            .doc("How far from home the worker goes. 25 when left out.")
            .optional_number("radius_km", &workers::RADIUS_KM);
        Some(Self {
            worker: NewWorker {
                email: email?,
                name: name?,
                phone,
                skills: skills.unwrap_or_default(),
                home,
                radius_km: radius_km.unwrap_or(DEFAULT_RADIUS_KM),
            },
            password: password?,
        })
    }
}

pub struct SignIn {
    email: String,
    password: String,
}

/// Wide enough for every address and password that a sign-up takes.
const ANY_EMAIL: TextRule = TextRule::plain(1, accounts::EMAIL.max);
const ANY_PASSWORD: TextRule = TextRule::plain(1, 1_000);

impl RequestBody for SignIn {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let email = fields.text("email", &ANY_EMAIL);
        let password = fields.text("password", &ANY_PASSWORD);
        Some(Self {
            email: email?.to_lowercase(),
            password: password?,
        })
    }
}

request_bodies! {
    /// A new worker.
    SignUp = json!({
        "email": "grace@example.com", "password": "correct horse battery", "name": "Grace",
        "phone": "+1 718 555 0100", "skills": ["photography", "driving"],
        "home_latitude": 40.71, "home_longitude": -73.95, "radius_km": 15,
    });
    SignIn = json!({"email": "grace@example.com", "password": "correct horse battery"});
}

/// Sign in as a worker
///
/// An unknown e-mail address and a wrong password get the same response.
#[utoipa::path(
    post, path = "/v1/workers/sessions", tag = "Workers", operation_id = "signInWorker",
    request_body = SignIn,
    responses((status = 201, description = "The worker, and a token", body = SignedIn),
        groups::Anybody, groups::Body, errors::InvalidCredentials)
)]
pub async fn sign_in(
    State(app): State<App>,
    client: ClientAddress,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let SignIn { email, password } = post.read()?;
    let attempt = app.sign_in_limits.begin(&email, client)?;
    let worker = match signed_in(&app, email, password).await {
        Ok(Some(worker)) => worker,
        Ok(None) => return Err(UseCaseError::WrongPassword.into()),
        Err(error) => {
            app.sign_in_limits.give_back(attempt);
            return Err(error);
        }
    };
    app.sign_in_limits.succeeded(attempt);
    let token = Secret::worker_token(&ambient::random());
    let (issued, id, clock) = (token.clone(), worker.id, app.clock.clone());
    app.store
        .write(move |tx| usecases::issue_token(tx, id, &issued, clock.now()))
        .await?;
    let payout = payout_status(&app, id).await?;
    JsonResponse::new(StatusCode::CREATED, &SignedIn::of(worker, payout, &token))
}

/// The worker with this e-mail address and this password.
async fn signed_in(app: &App, email: String, password: String) -> Result<Option<Worker>, ApiError> {
    let known = app.store.read(move |tx| tx.worker_by_email(&email)).await?;
    let (worker, stored) = known.unzip();
    let right = app.passwords.verify(password, stored).await;
    let right = right.map_err(unhashed)?;
    Ok(worker.filter(|_| right))
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"signed_out": true}))]
pub struct SignedOut {
    signed_out: bool,
}

/// Sign out
///
/// Revokes the token.
#[utoipa::path(
    delete, path = "/v1/worker/session", tag = "Workers", operation_id = "signOutWorker",
    responses((status = 200, description = "The token is revoked", body = SignedOut),
        groups::Worker)
)]
pub async fn sign_out(
    State(app): State<App>,
    caller: WorkerCaller,
) -> Result<JsonResponse, ApiError> {
    let hash = caller.token.hash();
    app.store
        .write(move |tx| tx.revoke_worker_token(&hash))
        .await?;
    JsonResponse::ok(&SignedOut { signed_out: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_passwords_at_once_are_no_failure_of_ours() {
        assert_eq!(unhashed(HashError::Busy).status(), 503);
        let broken = HashError::Failed("broken".to_owned());
        assert_eq!(unhashed(broken).status(), 500);
    }
}
