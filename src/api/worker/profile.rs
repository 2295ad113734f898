//! GET and PATCH /v1/worker

use axum::extract::{Request, State};
use serde_json::json;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::groups;
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::response::json::JsonResponse;
use crate::api::response::workers::with_payout_status;
use crate::domain::rules::ListRule;
use crate::domain::{WorkerEdit, WorkerStatus, accounts, geo, workers};
use crate::usecases::UseCaseError;
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
#[utoipa::path(
    patch, path = "/v1/worker", tag = "Workers", operation_id = "updateWorker",
    request_body = UpdateWorker,
    responses((status = 200, description = "The worker", body = WorkerBody),
        groups::Worker, groups::Body)
)]
pub async fn update(
    State(app): State<App>,
    caller: WorkerCaller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let UpdateWorker(edit) = body::required_json(request, app.timeouts).await?;
    let (id, clock) = (caller.worker.id, app.clock.clone());
    let worker = app
        .store
        .write(move |tx| {
            let worker = tx.worker_to_change(id)?;
            let worker = worker.filter(|worker| worker.status != WorkerStatus::Deleted);
            let worker = worker.ok_or(UseCaseError::Unauthorized)?;
            let worker = worker.edit(&edit, clock.now());
            tx.edit_worker(&worker)?;
            Ok::<_, UseCaseError>(worker)
        })
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
            home_latitude: fields.optional_number("home_latitude", &geo::LATITUDE),
            home_longitude: fields.optional_number("home_longitude", &geo::LONGITUDE),
            radius_km: fields.optional_number("radius_km", &workers::RADIUS_KM),
        }))
    }
}

request_bodies! {
    /// New values for the profile. What is left out stays.
    UpdateWorker = json!({"skills": ["photography", "driving", "notary"]});
}
