//! POST /v1/test_helpers/tasks/{id}/proofs

use axum::extract::{Request, State};
use bytes::Bytes;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::developer::test_helpers::only_in_test;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::errors;
use crate::api::request::fields::Fields;
use crate::api::request::idempotency::idempotency_key;
use crate::api::request::path::TaskPath;
use crate::api::request::{body, json, multipart, submission};
use crate::api::response::json::Answer;
use crate::api::response::submitted::Submitted;
use crate::domain::geo::Point;
use crate::domain::tasks::field;
use crate::domain::{
    Owner, Proof, ProofType, Submission, Task, TaskId, Timestamp, WorkerId, rules,
};
use crate::files::Received;
use crate::store::Tx;
use crate::submission::SubmissionDetails;
use crate::usecases::{self, UseCaseError};
use crate::{ambient, media};

/// What the simulated worker says of its phone.
pub const SIMULATED_DEVICE: &str =
    r#"{"user_agent":"Legwork simulated worker","platform":"simulated"}"#;

pub async fn sample(app: &App, proof_type: ProofType) -> Result<Received, ApiError> {
    let (bytes, _) = media::sample(proof_type, &ambient::random::<16>());
    let limit = proof_type.max_bytes();
    let mut incoming = app.files.receive(limit, app.clock.now()).await?;
    incoming.write(&Bytes::from(bytes)).await?;
    Ok(incoming.finish().await?)
}

/// Where the simulated worker says it was.
#[derive(ToSchema)]
#[schema(example = json!({"gps_latitude": 40.7163, "gps_longitude": -73.9595}))]
#[allow(dead_code, reason = "documents the body that `submit` reads")]
pub struct SimulateProof {
    #[schema(minimum = -90, maximum = 90)]
    gps_latitude: Option<f64>,
    #[schema(minimum = -180, maximum = 180)]
    gps_longitude: Option<f64>,
    /// All that the task asks for when left out.
    types: Option<Vec<ProofType>>,
}

/// Submit proof as the simulated worker
///
/// With generated files (JSON), or with your own (multipart, as workers send it). The task must be
/// in_progress or proof_rejected. The position is checked as in live.
#[utoipa::path(
    post, path = "/v1/test_helpers/tasks/{id}/proofs", tag = "Test helpers",
    operation_id = "simulateProof",
    params(("id" = String, Path, description = "Task id")),
    request_body = SimulateProof,
    responses((status = 201, description = "The proofs", body = Submitted),
        errors::Common, errors::Body, errors::TestModeOnly, errors::TaskNotFound,
        errors::InvalidTaskState)
)]
pub async fn submit(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    request: Request,
) -> Result<Answer, ApiError> {
    let owner = only_in_test(&caller)?;
    let key = idempotency_key(request.headers())?;
    let (mut details, files) = if multipart::is_multipart(&request) {
        let user_agent = submission::user_agent(request.headers());
        let form = multipart::read(&app, request, &submission::PARTS).await?;
        let details = submission::details(&form, &user_agent)?;
        (details, Sent::Files(submission::files_by_type(form)))
    } else {
        simulated(&body::read(request.into_body(), app.timeouts).await?)?
    };
    details.submission_id = details.submission_id.or(key);
    let (id, holder) = (path.id()?, caller.holder);
    let (name, now) = (details.submission_id.clone(), holder.time(app.clock.now()));
    let check = app.store.read(move |tx| {
        let task = tx.task_of(owner, id)?.ok_or(UseCaseError::TaskNotFound)?;
        let made = usecases::submission_was_made(tx, &task, name.as_deref(), now)?;
        Ok::<_, UseCaseError>((task, made))
    });
    let (task, made) = check.await?;
    let files = files.generated(&app, &task).await?;
    if !made {
        submission::check_complete(&task, &files, &details)?;
    }
    let stored = app.submissions.store_all(files).await?;
    let record = move |tx: &mut Tx<'_>, submission: &Submission, now| {
        submit_simulated(tx, owner, id, submission, holder.time(now))
    };
    let proofs = app.submissions.record(details, stored, record).await?;
    Submitted::answer(&app, id, proofs).await
}

fn submit_simulated(
    tx: &mut Tx<'_>,
    owner: Owner,
    id: TaskId,
    submission: &Submission,
    now: Timestamp,
) -> Result<(Vec<Proof>, bool), UseCaseError> {
    let task = tx
        .task_to_change(owner, id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    let worker = task.worker.unwrap_or(WorkerId::simulated(owner.account));
    usecases::submit_proof(tx, &task, worker, submission, now)
}

enum Sent {
    Files(Vec<(ProofType, Received)>),
    /// To be generated: these types, or all that the task asks for.
    Types(Option<Vec<ProofType>>),
}

impl Sent {
    async fn generated(
        self,
        app: &App,
        task: &Task,
    ) -> Result<Vec<(ProofType, Received)>, ApiError> {
        let types = match self {
            Self::Files(files) => return Ok(files),
            Self::Types(types) => types.unwrap_or_else(|| task.proof_types.clone()),
        };
        let mut files = Vec::new();
        for proof_type in types {
            files.push((proof_type, sample(app, proof_type).await?));
        }
        Ok(files)
    }
}

fn simulated(bytes: &Bytes) -> Result<(SubmissionDetails, Sent), ApiError> {
    let object = json::object(bytes).map_err(ApiError::Validation)?;
    let mut fields = Fields::of(&object);
    let latitude = fields.optional_number("gps_latitude", field::latitude);
    let longitude = fields.optional_number("gps_longitude", field::longitude);
    let distinct = |types: Vec<ProofType>| {
        rules::distinct(&types)?;
        Ok(types)
    };
    let types = fields.optional_list("types", ProofType::rule, distinct);
    if latitude.is_some() != longitude.is_some() {
        fields.refuse("gps_longitude", "must be given together with gps_latitude");
    }
    fields.finish()?;
    let details = SubmissionDetails {
        gps: Point::from_pair(latitude, longitude),
        accuracy_meters: None,
        device_info: SIMULATED_DEVICE.to_owned(),
        submission_id: None,
    };
    Ok((details, Sent::Types(types)))
}
