//! /v1/test_helpers: walks a test task through its life. With a test key only.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use bytes::Bytes;
use utoipa::ToSchema;

use super::answer::Answer;
use super::authentication::Caller;
use super::error::ApiError;
use super::fields::Fields;
use super::idempotency::{Keep, Post, idempotency_key, once_prepared};
use super::openapi::{IdempotencyKeyHeader, errors};
use super::path::TaskPath;
use super::submitting::{
    self, Circumstances, FILES, KeptFiles, TEXTS, check_complete, device_info,
};
use super::uploads::{self, Expected};
use super::worker_proofs::{Submitted, agent, by_type};
use super::{App, body, json};
use crate::ambient;
use crate::domain::geo::Point;
use crate::domain::task::{ProofType, field};
use crate::domain::{
    Action, Environment, Owner, Proof, Status, Submission, Task, TaskId, Timestamp, WorkerId, rules,
};
use crate::files::Received;
use crate::media;
use crate::objects::task::TaskBody;
use crate::store::Tx;
use crate::usecases::{self, Refusal};

pub fn only_in_test(caller: &Caller) -> Result<Owner, ApiError> {
    match caller.owner().environment {
        Environment::Test => Ok(caller.owner()),
        Environment::Live => Err(ApiError::TestModeOnly),
    }
}

/// Where to; without it, the next step of the happy path.
#[derive(ToSchema)]
#[schema(example = json!({"to": "proof_submitted"}))]
#[allow(dead_code, reason = "documents the body that `advance` reads")]
pub struct Advance {
    to: Option<Status>,
}

/// Move a test task on
///
/// By one step of the happy path (funded, posted, assigned, in_progress, proof_submitted), or to any
/// status that can be reached from where it is, by the moves of a simulated worker, of the clock and
/// of admins.
#[utoipa::path(
    post, path = "/v1/test_helpers/tasks/{id}/advance", tag = "Test helpers",
    operation_id = "advanceTask",
    params(("id" = String, Path, description = "Task id"), IdempotencyKeyHeader),
    request_body = Advance,
    responses((status = 200, description = "The task", body = TaskBody),
        errors::Common, errors::Body, errors::Idempotency, errors::TestModeOnly,
        errors::TaskNotFound, errors::InvalidTaskStateOrInFlight)
)]
pub async fn advance(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    post: Post,
) -> Result<Answer, ApiError> {
    let owner = only_in_test(&caller)?;
    let holder = caller.holder;
    let mut fields = Fields::of(&post.body);
    let to = fields.optional_text("to", Status::rule);
    fields.finish()?;
    let id = path.id()?;
    let task = app.store.read(move |tx| tx.task_of(owner, id)).await?;
    let prepare = async {
        // Files for as many submissions as the way can have.
        let mut kept = Vec::new();
        if let Some(task) = &task {
            for _ in 0..submissions(task, to)? {
                kept.push(sample_files(&app, task).await?);
            }
        }
        Ok(kept)
    };
    let walk = move |tx: &mut Tx<'_>, now, kept: &Vec<KeptFiles>| {
        let task = tx.task_to_change(owner, id)?.ok_or(Refusal::TaskNotFound)?;
        let submission = |kept: &KeptFiles, task: &Task| Submission {
            gps: Some(task.place()),
            accuracy_meters: None,
            device_info: simulated_device(),
            submission_id: None,
            files: kept.files.clone(),
        };
        let submissions = kept.iter().map(|kept| submission(kept, &task)).collect();
        usecases::advance_task(tx, task, &holder, to, submissions, now)
    };
    let (asker, ok) = (caller.asker(), StatusCode::OK);
    once_prepared(
        &app,
        &asker,
        post,
        ok,
        Keep::Plain,
        prepare,
        walk,
        TaskBody::json,
    )
    .await
}

fn simulated_device() -> String {
    r#"{"user_agent":"Legwork simulated worker","platform":"simulated"}"#.to_owned()
}

/// How many submissions lie on the way.
fn submissions(task: &Task, to: Option<Status>) -> Result<usize, ApiError> {
    let way = usecases::way(task, to)?;
    Ok(way
        .iter()
        .filter(|action| **action == Action::SubmitProof)
        .count())
}

async fn sample_files(app: &App, task: &Task) -> Result<KeptFiles, ApiError> {
    let mut files = Vec::new();
    for proof_type in &task.proof_types {
        files.push((*proof_type, sample(app, *proof_type).await?));
    }
    submitting::keep_all(app, files).await
}

async fn sample(app: &App, proof_type: ProofType) -> Result<Received, ApiError> {
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
    let (mut circumstances, files) = if uploads::is_multipart(&request) {
        let user_agent = agent(request.headers());
        let expected = Expected {
            files: &FILES,
            texts: &TEXTS,
        };
        let form = uploads::read(&app, request, &expected).await?;
        (
            Circumstances::of(&form, &user_agent)?,
            Sent::Files(by_type(form)),
        )
    } else {
        simulated(&body::read(request.into_body(), app.timeouts).await?)?
    };
    circumstances.submission_id = circumstances.submission_id.or(key);
    let id = path.id()?;
    let holder = caller.holder;
    let now = holder.time(app.clock.now());
    let name = circumstances.submission_id.clone();
    let (task, made) = app
        .store
        .read(move |tx| {
            let task = tx.task_of(owner, id)?.ok_or(Refusal::TaskNotFound)?;
            let made = match &name {
                Some(name) => tx.submission(id, name)?.is_some(),
                None => false,
            };
            if !made {
                task.act(Action::SubmitProof, now)?;
            }
            Ok::<_, Refusal>((task, made))
        })
        .await?;
    let files = files.generated(&app, &task).await?;
    let types: Vec<_> = files.iter().map(|(proof_type, _)| *proof_type).collect();
    if !made {
        check_complete(&task, &types, circumstances.gps)?;
    }
    let kept = submitting::keep_all(&app, files).await?;
    let proofs = submitting::record(&app, circumstances, kept, move |tx, submission, now| {
        submit_simulated(tx, owner, id, submission, holder.time(now))
    })
    .await?;
    Submitted::answer(&app, id, proofs).await
}

fn submit_simulated(
    tx: &mut Tx<'_>,
    owner: Owner,
    id: TaskId,
    submission: &Submission,
    now: Timestamp,
) -> Result<(Vec<Proof>, bool), Refusal> {
    let task = tx.task_to_change(owner, id)?.ok_or(Refusal::TaskNotFound)?;
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

fn simulated(bytes: &Bytes) -> Result<(Circumstances, Sent), ApiError> {
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
    let device_info = device_info(Some(&simulated_device()), "")
        .map_err(|message| ApiError::invalid("device_info", &message))?;
    let gps = latitude.zip(longitude);
    let circumstances = Circumstances {
        gps: gps.map(|(latitude, longitude)| Point {
            latitude,
            longitude,
        }),
        accuracy_meters: None,
        device_info,
        submission_id: None,
    };
    Ok((circumstances, Sent::Types(types)))
}
