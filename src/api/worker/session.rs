//! Sign-up, sign-in and sign-out of workers.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::middleware::sign_in_limits::Origin;
use crate::api::openapi::errors;
use crate::api::request::fields::Fields;
use crate::api::request::idempotency::Post;
use crate::api::request::json;
use crate::api::response::json::Answer;
use crate::api::response::workers::payout_status;
use crate::domain::geo::Point;
use crate::domain::tasks::{Skill, field};
use crate::domain::workers::{self, DEFAULT_RADIUS_KM};
use crate::domain::{NewWorker, PayoutStatus, Secret, Worker, WorkerId, accounts, rules};
use crate::store::StoreError;
use crate::usecases::{self, UseCaseError};
use crate::views::examples::WorkerExample;
use crate::views::worker::WorkerBody;
use crate::{ambient, passwords};

/// A new worker.
#[derive(ToSchema)]
#[schema(example = json!(WorkerExample::SignUp.value()))]
#[allow(dead_code, reason = "documents the body that `sign_up` reads")]
pub struct SignUp {
    #[schema(min_length = 3, max_length = 254)]
    email: String,
    #[schema(min_length = 8, max_length = 200)]
    password: String,
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    #[schema(min_length = 3, max_length = 32)]
    phone: Option<String>,
    skills: Option<Vec<Skill>>,
    #[schema(minimum = -90, maximum = 90)]
    home_latitude: Option<f64>,
    #[schema(minimum = -180, maximum = 180)]
    home_longitude: Option<f64>,
    /// How far from home the worker goes; 25 when left out.
    #[schema(minimum = 0.1, maximum = 200)]
    radius_km: Option<f64>,
}

#[derive(ToSchema)]
#[schema(example = json!(WorkerExample::SignIn.value()))]
#[allow(dead_code, reason = "documents the body that `sign_in` reads")]
pub struct SignIn {
    #[schema(min_length = 1, max_length = 254)]
    email: String,
    #[schema(min_length = 1, max_length = 1000)]
    password: String,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerExample::SignedIn.value()))]
pub struct SignedIn {
    worker: WorkerBody,
    /// Good for 30 days; shown this once.
    token: String,
}

/// Sign up as a worker
#[utoipa::path(
    post, path = "/v1/workers", tag = "Workers", operation_id = "signUpWorker",
    request_body = SignUp, security(()),
    responses((status = 201, description = "The worker, and a token", body = SignedIn),
        errors::Common, errors::Body, errors::EmailTaken)
)]
pub async fn sign_up(
    State(app): State<App>,
    Origin(address): Origin,
    post: Post,
) -> Result<Answer, ApiError> {
    let (new, password) = new_worker(&post)?;
    app.sign_in_limits.count(&new.email, address)?;
    let password_hash = passwords::hash(password).await.map_err(failed)?;
    let now = app.clock.now();
    let worker = Worker::sign_up(&new, WorkerId::new(now, &ambient::random()), now);
    let token = Secret::worker_token(&ambient::random());
    let (written, issued) = (worker.clone(), token.clone());
    app.store
        .write(move |tx| usecases::sign_up_worker(tx, &written, &password_hash, &issued, now))
        .await?;
    Answer::new(
        StatusCode::CREATED,
        &SignedIn {
            worker: WorkerBody::of(worker, PayoutStatus::None),
            token: token.expose().to_owned(),
        },
    )
}

fn failed(error: passwords::HashError) -> StoreError {
    StoreError::Failed(error.to_string())
}

fn new_worker(post: &Post) -> Result<(NewWorker, String), ApiError> {
    let mut fields = Fields::of(&post.body);
    let email = fields.text("email", accounts::email);
    let password = fields.text("password", workers::password);
    let name = fields.text("name", accounts::name);
    let phone = fields.optional_text("phone", workers::phone);
    let skills = fields.optional_list("skills", Skill::rule, field::required_skills);
    let latitude = fields.optional_number("home_latitude", workers::latitude);
    let longitude = fields.optional_number("home_longitude", workers::longitude);
    let radius_km = fields.optional_number("radius_km", workers::radius_km);
    if latitude.is_some() != longitude.is_some() {
        fields.refuse(
            "home_longitude",
            "must be given together with home_latitude",
        );
    }
    fields.finish()?;
    let (Some(email), Some(password), Some(name)) = (email, password, name) else {
        return Err(ApiError::invalid(json::BODY, "is incomplete"));
    };
    let home = latitude.zip(longitude);
    let new = NewWorker {
        email,
        name,
        phone,
        skills: skills.unwrap_or_default(),
        home: home.map(|(latitude, longitude)| Point {
            latitude,
            longitude,
        }),
        radius_km: radius_km.unwrap_or(DEFAULT_RADIUS_KM),
    };
    Ok((new, password))
}

/// Sign in
///
/// An unknown e-mail address and a wrong password get the same answer.
#[utoipa::path(
    post, path = "/v1/workers/sessions", tag = "Workers", operation_id = "signInWorker",
    request_body = SignIn, security(()),
    responses((status = 201, description = "The worker, and a token", body = SignedIn),
        errors::Common, errors::Body)
)]
pub async fn sign_in(
    State(app): State<App>,
    Origin(address): Origin,
    post: Post,
) -> Result<Answer, ApiError> {
    let mut fields = Fields::of(&post.body);
    let email = fields.text("email", |text| rules::text(text, 1, 254));
    let password = fields.text("password", |text| rules::text(text, 1, 1_000));
    fields.finish()?;
    let (Some(email), Some(password)) = (email, password) else {
        return Err(ApiError::invalid(json::BODY, "is incomplete"));
    };
    let email = email.to_lowercase();
    app.sign_in_limits.count(&email, address)?;
    let known = app.store.read(move |tx| tx.worker_by_email(&email)).await?;
    let (worker, stored) = known.unzip();
    let right = passwords::verify(password, stored).await.map_err(failed)?;
    let worker = worker
        .filter(|_| right)
        .ok_or(UseCaseError::WrongPassword)?;
    let token = Secret::worker_token(&ambient::random());
    let (issued, id, clock) = (token.clone(), worker.id, app.clock.clone());
    app.store
        .write(move |tx| usecases::issue_token(tx, id, &issued, clock.now()))
        .await?;
    let payout = payout_status(&app, id).await?;
    Answer::new(
        StatusCode::CREATED,
        &SignedIn {
            worker: WorkerBody::of(worker, payout),
            token: token.expose().to_owned(),
        },
    )
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"signed_out": true}))]
pub struct SignedOut {
    signed_out: bool,
}

/// Sign out
///
/// The token is of no use from then on.
#[utoipa::path(
    delete, path = "/v1/worker/session", tag = "Workers", operation_id = "signOutWorker",
    responses((status = 200, description = "The token is revoked", body = SignedOut),
        errors::Common)
)]
pub async fn sign_out(State(app): State<App>, caller: WorkerCaller) -> Result<Answer, ApiError> {
    let hash = caller.token.hash();
    app.store
        .write(move |tx| tx.revoke_worker_token(&hash))
        .await?;
    Answer::ok(&SignedOut { signed_out: true })
}
