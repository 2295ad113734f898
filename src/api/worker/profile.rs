//! GET and PATCH /v1/worker

use axum::extract::{Request, State};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::errors;
use crate::api::request::body;
use crate::api::request::fields::Fields;
use crate::api::response::json::Answer;
use crate::api::response::workers::with_payout_status;
use crate::domain::tasks::{Skill, field};
use crate::domain::{WorkerEdit, accounts, workers};
use crate::usecases::UseCaseError;
use crate::views::examples::WorkerExample;
use crate::views::worker::WorkerBody;

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

/// Get the own profile
#[utoipa::path(
    get, path = "/v1/worker", tag = "Workers", operation_id = "getWorker",
    responses((status = 200, description = "The worker", body = WorkerBody), errors::Common)
)]
pub async fn get(State(app): State<App>, caller: WorkerCaller) -> Result<Answer, ApiError> {
    Answer::ok(&with_payout_status(&app, caller.worker).await?)
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
        name: fields.text_if_given("name", accounts::name),
        phone: fields.nullable_text("phone", workers::phone),
        skills: fields.optional_list("skills", Skill::rule, field::required_skills),
        home_latitude: fields.optional_number("home_latitude", workers::latitude),
        home_longitude: fields.optional_number("home_longitude", workers::longitude),
        radius_km: fields.optional_number("radius_km", workers::radius_km),
    };
    fields.finish()?;
    let (id, clock) = (caller.worker.id, app.clock.clone());
    let worker = app
        .store
        .write(move |tx| {
            let worker = tx.worker_to_change(id)?.ok_or(UseCaseError::Unauthorized)?;
            let worker = worker.edit(&edit, clock.now());
            tx.edit_worker(&worker)?;
            Ok::<_, UseCaseError>(worker)
        })
        .await?;
    Answer::ok(&with_payout_status(&app, worker).await?)
}
