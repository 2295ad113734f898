//! /v1/workers and /v1/worker: workers come in, and see to their profile and their pay.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::Answer;
use super::authentication::WorkerCaller;
use super::error::ApiError;
use super::fields::Fields;
use super::funding::patiently;
use super::idempotency::Post;
use super::openapi::errors;
use super::openapi_examples::WorkerExample;
use super::sign_in_limits::Origin;
use super::{App, body, json};
use crate::ambient;
use crate::domain::geo::Point;
use crate::domain::task::{Skill, field};
use crate::domain::worker::{self, DEFAULT_RADIUS_KM};
use crate::domain::{
    Environment, NewWorker, PayoutStatus, Secret, Timestamp, Worker, WorkerEdit, WorkerId,
    WorkerStatus, account, rules,
};
use crate::passwords;
use crate::store::{PayoutState, StoreError};
use crate::usecases::{self, Refusal};

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

/// What is to change; what is left out stays.
#[derive(ToSchema)]
#[schema(example = json!(WorkerExample::Update.value()))]
#[allow(dead_code, reason = "documents the body that `update` reads")]
pub struct UpdateWorker {
    #[schema(min_length = 1, max_length = 200, nullable = false)]
    name: Option<String>,
    /// Null clears it.
    #[schema(min_length = 3, max_length = 32)]
    phone: Option<String>,
    skills: Option<Vec<Skill>>,
    #[schema(minimum = -90, maximum = 90)]
    home_latitude: Option<f64>,
    #[schema(minimum = -180, maximum = 180)]
    home_longitude: Option<f64>,
    #[schema(minimum = 0.1, maximum = 200)]
    radius_km: Option<f64>,
}

/// A worker, as the worker and admins see it.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerExample::Worker.value()))]
pub struct WorkerBody {
    id: String,
    email: String,
    name: String,
    #[schema(required)]
    phone: Option<String>,
    skills: Vec<Skill>,
    #[schema(required)]
    home_latitude: Option<f64>,
    #[schema(required)]
    home_longitude: Option<f64>,
    radius_km: f64,
    status: WorkerStatus,
    payout_account: PayoutAccountBody,
    completed_tasks: i64,
    /// The part of reviewed attempts that was approved, 0 to 1; null before the first review.
    #[schema(required)]
    approval_rate: Option<f64>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
pub struct PayoutAccountBody {
    status: PayoutStatus,
}

impl WorkerBody {
    pub fn of(worker: Worker, payout: PayoutStatus) -> Self {
        Self {
            id: worker.id.to_string(),
            approval_rate: worker.approval_rate(),
            email: worker.email,
            name: worker.name,
            phone: worker.phone,
            skills: worker.skills,
            home_latitude: worker.home.map(|home| home.latitude),
            home_longitude: worker.home.map(|home| home.longitude),
            radius_km: worker.radius_km,
            status: worker.status,
            payout_account: PayoutAccountBody { status: payout },
            completed_tasks: worker.completed_tasks,
            created_at: worker.created_at,
            updated_at: worker.updated_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerExample::SignedIn.value()))]
pub struct SignedIn {
    worker: WorkerBody,
    /// Good for 30 days; shown this once.
    token: String,
}

/// Where a worker stands with payouts.
pub async fn payout_status(app: &App, worker: WorkerId) -> Result<PayoutStatus, Refusal> {
    let processor = app.payments.processor.name();
    let account = app
        .store
        .read(move |tx| tx.payout_account(worker, processor))
        .await?;
    Ok(account.map_or(PayoutStatus::None, |account| account.status))
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
    let email = fields.text("email", account::email);
    let password = fields.text("password", worker::password);
    let name = fields.text("name", account::name);
    let phone = fields.optional_text("phone", worker::phone);
    let skills = fields.optional_list("skills", Skill::rule, field::required_skills);
    let latitude = fields.optional_number("home_latitude", worker::latitude);
    let longitude = fields.optional_number("home_longitude", worker::longitude);
    let radius_km = fields.optional_number("radius_km", worker::radius_km);
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
    let worker = worker.filter(|_| right).ok_or(Refusal::WrongPassword)?;
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

/// Get the own profile
#[utoipa::path(
    get, path = "/v1/worker", tag = "Workers", operation_id = "getWorker",
    responses((status = 200, description = "The worker", body = WorkerBody), errors::Common)
)]
pub async fn get(State(app): State<App>, caller: WorkerCaller) -> Result<Answer, ApiError> {
    let payout = payout_status(&app, caller.worker.id).await?;
    Answer::ok(&WorkerBody::of(caller.worker, payout))
}

/// Change the own profile
#[utoipa::path(
    patch, path = "/v1/worker", tag = "Workers", operation_id = "updateWorker",
    request_body = UpdateWorker,
    responses((status = 200, description = "The worker", body = WorkerBody),
        errors::Common, errors::Body)
)]
pub async fn update(
    State(app): State<App>,
    caller: WorkerCaller,
    request: Request,
) -> Result<Answer, ApiError> {
    let object = body::object(request, app.timeouts).await?;
    let mut fields = Fields::of(&object);
    let edit = WorkerEdit {
        name: fields.text_if_given("name", account::name),
        phone: fields.nullable_text("phone", worker::phone),
        skills: fields.optional_list("skills", Skill::rule, field::required_skills),
        home_latitude: fields.optional_number("home_latitude", worker::latitude),
        home_longitude: fields.optional_number("home_longitude", worker::longitude),
        radius_km: fields.optional_number("radius_km", worker::radius_km),
    };
    fields.finish()?;
    let (id, clock) = (caller.worker.id, app.clock.clone());
    let worker = app
        .store
        .write(move |tx| {
            let worker = tx.worker_to_change(id)?.ok_or(Refusal::Unauthorized)?;
            let worker = worker.edit(&edit, clock.now());
            tx.edit_worker(&worker)?;
            Ok::<_, Refusal>(worker)
        })
        .await?;
    let payout = payout_status(&app, id).await?;
    Answer::ok(&WorkerBody::of(worker, payout))
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerExample::Onboarding.value()))]
pub struct Onboarding {
    status: PayoutStatus,
    /// Where the worker completes the account with the payment processor.
    url: String,
}

/// Start onboarding for payouts
#[utoipa::path(
    post, path = "/v1/worker/payout_account", tag = "Workers", operation_id = "openPayoutAccount",
    responses((status = 201, description = "Where to go on", body = Onboarding),
        errors::Common, errors::Body, errors::PaymentUnavailable)
)]
pub async fn open_payout_account(
    State(app): State<App>,
    caller: WorkerCaller,
    post: Post,
) -> Result<Answer, ApiError> {
    post.expect_no_fields()?;
    let processor = app.payments.processor.clone();
    let (worker, name) = (caller.worker.id, processor.name());
    let known = app
        .store
        .read(move |tx| tx.payout_account(worker, name))
        .await?;
    let id = match known {
        Some(account) => account.id,
        None => patiently(&app, processor.open_payout_account(worker)).await?,
    };
    let (opened, clock) = (id.clone(), app.clock.clone());
    app.store
        .write(move |tx| usecases::payout_account_opened(tx, worker, name, &opened, clock.now()))
        .await?;
    let url = patiently(&app, processor.onboarding_url(&id)).await?;
    let status = payout_status(&app, worker).await?;
    Answer::new(StatusCode::CREATED, &Onboarding { status, url })
}

/// What a worker has earned.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerExample::Earnings.value()))]
pub struct Earnings {
    /// Earned and not transferred yet.
    balance_cents: i64,
    /// Transferred.
    paid_cents: i64,
    /// The latest, newest first.
    payouts: Vec<PayoutBody>,
}

#[derive(Serialize, ToSchema)]
struct PayoutBody {
    task_id: String,
    amount_cents: i64,
    /// `paid` once it has been transferred, `pending` before; `written_off` when it never will be.
    status: &'static str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

/// Get earnings
#[utoipa::path(
    get, path = "/v1/worker/earnings", tag = "Workers", operation_id = "getEarnings",
    responses((status = 200, description = "The earnings", body = Earnings), errors::Common)
)]
pub async fn earnings(State(app): State<App>, caller: WorkerCaller) -> Result<Answer, ApiError> {
    const LATEST: i64 = 100;
    let worker = caller.worker.id;
    let earnings = app
        .store
        .snapshot(move |tx| {
            let payouts = tx.payouts_of(worker, LATEST)?;
            Ok::<_, StoreError>(Earnings {
                balance_cents: tx.worker_balance(worker, Environment::Live)?,
                paid_cents: tx.paid_to(worker)?,
                payouts: payouts
                    .into_iter()
                    .map(|payout| PayoutBody {
                        task_id: payout.task.to_string(),
                        amount_cents: payout.cents,
                        status: match payout.state {
                            PayoutState::Pending => "pending",
                            PayoutState::Paid => "paid",
                            PayoutState::WrittenOff => "written_off",
                        },
                        created_at: payout.at,
                    })
                    .collect(),
            })
        })
        .await?;
    Answer::ok(&earnings)
}
