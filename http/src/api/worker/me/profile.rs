//! GET and PATCH /v1/worker

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
use crate::domain::rules::ListRule;
use crate::domain::{WorkerEdit, accounts, workers};
use crate::usecases;
use crate::views::worker::WorkerBody;

/// Get your profile
#[utoipa::path(
    get, path = "/v1/worker", tag = "Workers", operation_id = "getWorker",
    responses((status = 200, description = "The worker", body = WorkerBody), groups::Worker)
)]
pub async fn get(State(app): State<App>, caller: WorkerCaller) -> Result<JsonResponse, ApiError> {
    JsonResponse::ok(&with_payout_status(&app, caller.worker).await?)
}

/// Update your profile
///
/// The name of a verified worker is locked: a new one is `pending_name` until an admin has decided, and
/// you are `in_review` meanwhile.
#[utoipa::path(
    patch, path = "/v1/worker", tag = "Workers", operation_id = "updateWorker",
    request_body = UpdateWorker,
    responses((status = 200, description = "The worker", body = WorkerBody),
        groups::Worker, groups::Body, errors::InvalidWorkerState)
)]
pub async fn update(
    State(app): State<App>,
    caller: WorkerCaller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let UpdateWorker(edit) = body::required_json(request, &app).await?;
    let (id, clock, checked) = (
        caller.worker.id,
        app.clock.clone(),
        app.checked_skills.clone(),
    );
    let worker = app
        .store
        .write(move |tx| usecases::edit_worker(tx, id, &edit, &checked, clock.now()))
        .await?;
    JsonResponse::ok(&with_payout_status(&app, worker).await?)
}

/// New values for the profile. What is left out stays.
pub struct UpdateWorker(WorkerEdit);

impl RequestBody for UpdateWorker {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self(WorkerEdit {
            name: fields.text_if_given("name", &accounts::NAME),
            phone: fields
                .doc("Null clears it.")
                .nullable_text("phone", &workers::PHONE),
            skills: fields.optional_choices("skills", &ListRule::ANY),
            home: fields.optional_point("home_latitude", "home_longitude"),
            radius_km: fields.optional_number("radius_km", &workers::RADIUS_KM),
        }))
    }
}

request_bodies! {
    /// New values for the profile. What is left out stays.
    UpdateWorker = json!({"skills": ["photography", "driving", "notary"]});
}
