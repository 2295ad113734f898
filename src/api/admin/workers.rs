//! /v1/admin/workers: who may take tasks.

use axum::extract::{Request, State};

use super::queue::given_note;
use crate::api::App;
use crate::api::answer::Answer;
use crate::api::authentication::AdminCaller;
use crate::api::error::ApiError;
use crate::api::openapi::errors;
use crate::api::path::IdPath;
use crate::api::workers::{WorkerBody, payout_status};
use crate::domain::{By, Timestamp, Worker, WorkerId};
use crate::store::Tx;
use crate::usecases::{self, Refusal};

type Decision = fn(&mut Tx<'_>, WorkerId, &By, Timestamp) -> Result<Worker, Refusal>;

async fn decide(
    app: &App,
    AdminCaller(admin): AdminCaller,
    id: Option<WorkerId>,
    request: Request,
    decision: Decision,
) -> Result<Answer, ApiError> {
    given_note(app, request).await?;
    let (id, clock) = (id.ok_or(Refusal::WorkerNotFound)?, app.clock.clone());
    let worker = app
        .store
        .write(move |tx| decision(tx, id, &By::admin(admin), clock.now()))
        .await?;
    let payout = payout_status(app, id).await?;
    Answer::ok(&WorkerBody::of(worker, payout))
}

/// Verify a worker
#[utoipa::path(
    post, path = "/v1/admin/workers/{id}/verify", tag = "Admin", operation_id = "verifyWorker",
    params(("id" = String, Path, description = "Worker id")),
    responses((status = 200, description = "The worker is verified", body = WorkerBody),
        errors::Common, errors::Body, errors::WorkerNotFound, errors::InvalidWorkerState)
)]
pub async fn verify(
    State(app): State<App>,
    admin: AdminCaller,
    IdPath(id): IdPath<WorkerId>,
    request: Request,
) -> Result<Answer, ApiError> {
    decide(&app, admin, id, request, usecases::verify_worker).await
}

/// Refuse a worker's documents
#[utoipa::path(
    post, path = "/v1/admin/workers/{id}/refuse", tag = "Admin", operation_id = "refuseWorker",
    params(("id" = String, Path, description = "Worker id")),
    responses((status = 200, description = "The worker may send others", body = WorkerBody),
        errors::Common, errors::Body, errors::WorkerNotFound, errors::InvalidWorkerState)
)]
pub async fn refuse(
    State(app): State<App>,
    admin: AdminCaller,
    IdPath(id): IdPath<WorkerId>,
    request: Request,
) -> Result<Answer, ApiError> {
    decide(&app, admin, id, request, usecases::refuse_worker).await
}

/// Suspend a worker
#[utoipa::path(
    post, path = "/v1/admin/workers/{id}/suspend", tag = "Admin", operation_id = "suspendWorker",
    params(("id" = String, Path, description = "Worker id")),
    responses((status = 200, description = "The worker is suspended", body = WorkerBody),
        errors::Common, errors::Body, errors::WorkerNotFound, errors::InvalidWorkerState)
)]
pub async fn suspend(
    State(app): State<App>,
    admin: AdminCaller,
    IdPath(id): IdPath<WorkerId>,
    request: Request,
) -> Result<Answer, ApiError> {
    decide(&app, admin, id, request, usecases::suspend_worker).await
}
