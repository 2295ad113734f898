//! DELETE /v1/worker

use axum::extract::{Request, State};
use serde_json::json;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::middleware::client_address::ClientAddress;
use crate::api::openapi::{errors, groups};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::response::json::JsonResponse;
use crate::api::response::workers::with_payout_status;
use crate::domain::rules::TextRule;
use crate::domain::{Actor, Worker};
use crate::passwords::HashError;
use crate::store::StoreError;
use crate::usecases::{self, UseCaseError};
use crate::views::worker::WorkerBody;

/// Confirms that the worker is to be deleted.
pub struct DeleteWorker {
    password: String,
}

/// Wide enough for every password that a sign-up takes.
const ANY_PASSWORD: TextRule = TextRule::plain(1, 1_000);

impl RequestBody for DeleteWorker {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let password = fields.text("password", &ANY_PASSWORD);
        Some(Self {
            password: password?,
        })
    }
}

request_bodies! {
    /// Confirms that the worker is to be deleted.
    DeleteWorker = json!({"password": "correct horse battery"});
}

/// Delete your account
///
/// Erases your profile, documents, sign-ins and notifications, permanently. Refused while a task of
/// yours is open or a payout is still to be made. Tasks, payouts and the ledger keep your ID.
#[utoipa::path(
    delete, path = "/v1/worker", tag = "Workers", operation_id = "deleteWorker",
    request_body = DeleteWorker,
    responses((status = 200, description = "The worker is deleted", body = WorkerBody),
        groups::Worker, groups::Body, errors::InvalidCredentials, errors::InvalidWorkerState,
        errors::TasksOpen)
)]
pub async fn delete(
    State(app): State<App>,
    caller: WorkerCaller,
    client: ClientAddress,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let DeleteWorker { password } = body::json(request, app.timeouts).await?;
    check_password(&app, &caller.worker, password, client).await?;
    let (id, clock) = (caller.worker.id, app.clock.clone());
    let deleted = app
        .store
        .write(move |tx| usecases::delete_worker(tx, id, &Actor::worker(id), clock.now()))
        .await?;
    JsonResponse::ok(&with_payout_status(&app, deleted).await?)
}

/// Counts as a sign-in, so that a stolen token is no way to guess the password.
async fn check_password(
    app: &App,
    worker: &Worker,
    password: String,
    client: ClientAddress,
) -> Result<(), ApiError> {
    let email = worker.email.clone();
    let attempt = app.sign_in_limits.begin(&email, client)?;
    let known = app.store.read(move |tx| tx.worker_by_email(&email)).await?;
    let stored = known.map(|(_, stored)| stored);
    match app.passwords.verify(password, stored).await {
        Ok(true) => {
            app.sign_in_limits.succeeded(attempt);
            Ok(())
        }
        Ok(false) => Err(UseCaseError::WrongPassword.into()),
        Err(error) => {
            app.sign_in_limits.give_back(attempt);
            Err(match error {
                HashError::Busy => ApiError::Busy,
                HashError::Failed(reason) => StoreError::Failed(reason).into(),
            })
        }
    }
}
