//! DELETE /v1/worker

use axum::extract::{Request, State};
use serde_json::json;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{errors, groups};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::response::json::JsonResponse;
use crate::api::response::workers::with_payout_status;
use crate::api::worker::access::account::check_password;
use crate::domain::Actor;
use crate::limits::ClientAddress;
use crate::usecases;
use crate::views::worker::WorkerBody;

/// Confirms that the worker is to be deleted.
pub struct DeleteWorker {
    password: String,
}

impl RequestBody for DeleteWorker {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let password = fields.present_password("password");
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
    let DeleteWorker { password } = body::json(request, &app).await?;
    let checked = check_password(&app, client, &caller.worker, password).await?;
    let (id, clock) = (caller.worker.id, app.clock.clone());
    let deleted = app.store.write(move |tx| {
        usecases::worker_with_password(tx, id, &checked)?;
        usecases::delete_worker(tx, id, &Actor::worker(id), clock.now())
    });
    JsonResponse::ok(&with_payout_status(&app, deleted.await?).await?)
}
