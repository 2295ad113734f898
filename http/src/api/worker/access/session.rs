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
use crate::api::middleware::user_agent::UserAgent;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::stranger::stranger;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::api::response::workers::payout_status;
use crate::api::second_factor::not_passed;
use crate::domain::rules::{ListRule, TextRule};
use crate::domain::workers::{self, DEFAULT_RADIUS_KM};
use crate::domain::{
    GivenCode, NewWorker, PayoutStatus, PersonKind, Secret, Worker, WorkerId, accounts,
};
use crate::limits::{Applicant, ClientAddress};
use crate::store::Tx;
use crate::usecases::{self, FactorAtSignIn, NewSession, UseCaseError};
use crate::views::worker::WorkerBody;
use crate::views::{examples, to_json};

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
///
/// Where the service sends mail, the address gets a link to confirm it, and the answer is the same
/// whether or not the address is known. You sign in with a confirmed address.
#[utoipa::path(
    post, path = "/v1/workers", tag = "Workers", operation_id = "signUpWorker",
    params(IdempotencyKeyHeader), request_body = SignUp,
    responses((status = 201, description = "The worker, and a token", body = SignedIn),
        groups::Anybody, groups::Body, groups::Idempotency, errors::EmailTaken)
)]
pub async fn sign_up(
    State(app): State<App>,
    client: ClientAddress,
    user_agent: UserAgent,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let SignUp {
        worker: new,
        password,
    } = post.read()?;
    app.sign_in_limits.count_sign_up(client)?;
    let (requester, post) = stranger(&app, "sign up worker", &new.email, post).await?;
    // With mail the address is only claimed: nobody learns from the answer whether it is known.
    let (confirmed, id) = (!app.sends_mail, ambient::random_for_id());
    let (session, email) = (new_session(user_agent), new.email.clone());
    let hash = app.passwords.hash(password, Applicant::stranger(client));
    let hash = async { Ok::<_, ApiError>(hash.await?) };
    let effect = move |tx: &mut Tx<'_>, now, hash: &String| {
        let worker = Worker {
            email_confirmed: confirmed,
            ..Worker::sign_up(&new, WorkerId::new(now, &id), now)
        };
        usecases::sign_up_worker(tx, &worker, hash, &session, now)?;
        Ok((worker, session.token.clone()))
    };
    let render = |(worker, token): &(Worker, Secret)| {
        to_json(&SignedIn::of(worker.clone(), PayoutStatus::None, token))
    };
    let request = Idempotent::new(&app, requester, post).created().sealed();
    let answer = request.prepare(hash).run(effect, render).await?;
    if confirmed {
        let limits = &app.sign_in_limits;
        limits.signed_up((PersonKind::Worker, &email), client);
    }
    Ok(answer)
}

fn new_session(user_agent: UserAgent) -> NewSession {
    NewSession {
        token: Secret::worker_token(&ambient::random()),
        user_agent: user_agent.0,
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
    code: Option<GivenCode>,
}

/// Wide enough for every address that a sign-up takes.
const ANY_EMAIL: TextRule = TextRule::plain(1, accounts::EMAIL.max);

impl RequestBody for SignIn {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let email = fields.text("email", &ANY_EMAIL);
        let password = fields.present_password("password");
        let code = fields
            .doc("With a second factor: the code that the app shows, or a recovery code.")
            .optional_text("code", &GivenCode::RULE);
        Some(Self {
            email: email?.to_lowercase(),
            password: password?,
            code,
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
/// An unknown e-mail address and a wrong password get the same response. If you have a second factor,
/// a right password without `code` gets SECOND_FACTOR_REQUIRED.
#[utoipa::path(
    post, path = "/v1/workers/sessions", tag = "Workers", operation_id = "signInWorker",
    request_body = SignIn,
    responses((status = 201, description = "The worker, and a token", body = SignedIn),
        groups::Anybody, groups::Body, errors::InvalidCredentials, errors::InvalidCode,
        errors::SecondFactorRequired)
)]
pub async fn sign_in(
    State(app): State<App>,
    client: ClientAddress,
    user_agent: UserAgent,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let SignIn {
        email,
        password,
        code,
    } = post.read()?;
    let attempt = app
        .sign_in_limits
        .begin((PersonKind::Worker, &email), client)?;
    let session = new_session(user_agent);
    let given = (email, password, code);
    match try_sign_in(&app, given, session.clone(), attempt.applicant()).await {
        Ok((worker, FactorAtSignIn::Passes { .. })) => {
            app.sign_in_limits.succeeded(attempt);
            let payout = payout_status(&app, worker.id).await?;
            let signed_in = SignedIn::of(worker, payout, &session.token);
            JsonResponse::new(StatusCode::CREATED, &signed_in)
        }
        // Counts as much as a wrong password.
        Ok((_, FactorAtSignIn::Refused(check))) => Err(not_passed(&app, check)),
        Ok((_, FactorAtSignIn::CodeRequired)) => {
            app.sign_in_limits.give_back(attempt);
            Err(UseCaseError::SecondFactorRequired.into())
        }
        Err(error @ ApiError::UseCase(UseCaseError::WrongPassword)) => Err(error),
        Err(error) => {
            app.sign_in_limits.give_back(attempt);
            Err(error)
        }
    }
}

/// Issues a token to the worker with this e-mail address and this password, if the code passes.
async fn try_sign_in(
    app: &App,
    (email, password, code): (String, String, Option<GivenCode>),
    session: NewSession,
    applicant: Applicant,
) -> Result<(Worker, FactorAtSignIn), ApiError> {
    let known = app.store.read(move |tx| tx.worker_by_email(&email)).await?;
    let (worker, stored) = known.unzip();
    let right = app
        .passwords
        .verify(password, stored.clone(), applicant)
        .await?;
    let (Some(worker), Some(checked), true) = (worker, stored, right) else {
        return Err(UseCaseError::WrongPassword.into());
    };
    let (id, clock) = (worker.id, app.clock.clone());
    let outcome = app.store.write(move |tx| {
        let who = (id, checked.as_str());
        usecases::sign_in_worker(tx, who, code.as_ref(), &session, clock.now())
    });
    Ok((worker, outcome.await?))
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
