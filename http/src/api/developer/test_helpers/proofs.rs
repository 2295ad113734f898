//! POST /v1/test_helpers/tasks/{id}/proofs

use std::sync::atomic::AtomicU64;

use axum::extract::{Request, State};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::api::App;
use crate::api::developer::test_helpers::only_in_test;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::middleware::limits::uploads::{Sender, UploadPermit};
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{self, Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::submission::{AnnouncedKey, Answer, Begin};
use crate::api::request::multipart::{self, Wanted};
use crate::api::request::path::TaskPath;
use crate::api::request::submission::{self, SubmitProof};
use crate::api::request::{self, body};
use crate::api::response::json::JsonResponse;
use crate::api::response::submitted::Submitted;
use crate::domain::geo::Point;
use crate::domain::rules::{self, ListRule};
use crate::domain::{Owner, Proof, ProofType, Submission, Task, TaskId, Timestamp, WorkerId};
use crate::files::Received;
use crate::store::Tx;
use crate::submission::SubmissionDetails;
use crate::usecases::{self, Expected, UseCaseError};
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

/// Submit proof as the simulated worker
///
/// With generated files (JSON) or with your own (multipart, as workers send it). The task must be
/// `in_progress` or `proof_rejected`. The position is checked as in live.
#[utoipa::path(
    post, path = "/v1/test_helpers/tasks/{id}/proofs", tag = "Test helpers",
    operation_id = "simulateProof",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    request_body(content((SimulateProof = "application/json"), (SubmitProof = "multipart/form-data"))),
    responses((status = 201, description = "The proofs", body = Submitted,
            links(("approve" = (operation_id = "approveProof", parameters(("id" = "$request.path.id"),
                    ("proof_id" = "$response.body#/data/0/id")))),
                ("reject" = (operation_id = "rejectProof", parameters(("id" = "$request.path.id"),
                    ("proof_id" = "$response.body#/data/0/id")))))),
        groups::Developer, groups::Body, groups::Idempotency, errors::TestModeOnly, errors::TaskNotFound,
        errors::InvalidTaskState, errors::StorageFull, errors::FileTooLarge)
)]
pub async fn submit(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let key = AnnouncedKey::of(&request);
    let form = multipart::is_multipart(&request).then(|| multipart::announced(&request));
    let begun = begin(&app, &caller, &path, form);
    let (key, begun) = match begun.await.and_then(|begun| Ok((key?, begun))) {
        Ok(begun) => begun,
        Err(error) => return Err(body::refuse(error, request).await),
    };
    let (owner, id, refused) = (
        caller.owner(),
        begun.expected.task.id,
        begun.expected.refused,
    );
    let (details, files, sent) = read(&app, request, &begun.wanted).await?;
    let key = key.with(caller.requester(), &sent);
    let _claim = match key.begin(&app).await? {
        Begin::First(claim) => claim,
        Begin::Answered(answered) => return Ok(answered),
    };
    let (holder, name) = (caller.holder, details.submission_id.clone());
    let now = holder.time(app.clock.now());
    let check = app.store.read(move |tx| {
        let task = tx.task_of(owner, id)?.ok_or(UseCaseError::TaskNotFound)?;
        let worker = submitter(&task);
        let made = usecases::submission_was_made(tx, &task, worker, name.as_deref(), now)?;
        Ok::<_, UseCaseError>((task, made))
    });
    let (task, made) = check.await?;
    let files = files.generated(&app, &task).await?;
    let files = submission::new_files(files, &task, &details, made, refused)?;
    let stored = app.submissions.store_all(files).await?;
    let answer = Answer::prepare(&app, id, &stored, key).await?;
    let kept = answer.clone();
    let record = move |tx: &mut Tx<'_>, submission: &Submission, now| {
        kept.begin(tx, now)?;
        let (proofs, is_new) = submit_simulated(tx, owner, id, submission, holder.time(now))?;
        if is_new {
            kept.keep(tx, &proofs, now)?;
        }
        Ok((proofs, is_new))
    };
    let account = owner.account;
    let recorded = app.submissions.record(account, details, stored, record);
    answer.send(&app, recorded.await).await
}

/// What is decided before the body is read.
struct Begun {
    expected: Expected,
    wanted: Wanted,
    /// None for generated files: nothing is uploaded.
    _permit: Option<UploadPermit>,
}

/// For a form, `form` is the size that was announced, if any was.
async fn begin(
    app: &App,
    caller: &Caller,
    path: &TaskPath,
    form: Option<Option<u64>>,
) -> Result<Begun, ApiError> {
    let owner = only_in_test(caller)?;
    let (id, quota) = (path.id()?, app.submissions.quota);
    let now = caller.holder.time(app.clock.now());
    let expect = app.store.read(move |tx| {
        let task = tx.task_of(owner, id)?.ok_or(UseCaseError::TaskNotFound)?;
        let worker = submitter(&task);
        usecases::expect_submission(tx, task, worker, quota, now)
    });
    let expected = expect.await?;
    let wanted = submission::wanted(&expected);
    let mut permit = None;
    if let Some(announced) = form {
        permit = Some(app.uploads.acquire(Sender::Account(owner.account)).await?);
        wanted.expect(announced)?;
    }
    Ok(Begun {
        expected,
        wanted,
        _permit: permit,
    })
}

/// A form as workers send it, or JSON.
async fn read(
    app: &App,
    request: Request,
    wanted: &Wanted,
) -> Result<(SubmissionDetails, Sent, Map<String, Value>), ApiError> {
    if !multipart::is_multipart(&request) {
        let (parts, sent) = request.into_parts();
        let bytes = body::received(&parts.extensions, sent, app).await?;
        let sent = request::json::object(&bytes).map_err(ApiError::Validation)?;
        let (details, files) = simulated(fields::read(&sent)?);
        return Ok((details, files, sent));
    }
    let user_agent = submission::user_agent(request.headers());
    let received = AtomicU64::new(0);
    let form = multipart::read::<SubmitProof>(app, request, wanted, &received).await?;
    let (details, sent) = (submission::details(&form, &user_agent)?, form.meaning());
    let files = Sent::Files(submission::files_by_type(form));
    Ok((details, files, sent))
}

/// The worker of the task: the simulated one, unless there is another.
fn submitter(task: &Task) -> WorkerId {
    let simulated = WorkerId::simulated(task.owner.account);
    task.worker.unwrap_or(simulated)
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
    usecases::submit_proof(tx, &task, submitter(&task), submission, now)
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

/// Where the simulated worker says it was, and what it sends.
pub struct SimulateProof {
    gps: Option<Point>,
    types: Option<Vec<ProofType>>,
}

const TYPES: ListRule<ProofType> = ListRule {
    min: 0,
    unique: true,
    check: |types| {
        rules::distinct(&types)?;
        Ok(types)
    },
};

impl RequestBody for SimulateProof {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let gps = fields
            .doc("Required unless the task asks for a signature only.")
            .optional_point("gps_latitude", "gps_longitude");
        let types = fields
            .doc("All that the task asks for when left out.")
            .optional_choices("types", &TYPES);
        Some(Self { gps, types })
    }
}

request_bodies! {
    /// Where the simulated worker says it was, and what it sends.
    SimulateProof = json!({"gps_latitude": 40.7163, "gps_longitude": -73.9595});
}

fn simulated(SimulateProof { gps, types }: SimulateProof) -> (SubmissionDetails, Sent) {
    let details = SubmissionDetails {
        gps,
        accuracy_meters: None,
        device_info: SIMULATED_DEVICE.to_owned(),
        captures: Vec::new(),
        submission_id: None,
    };
    (details, Sent::Types(types))
}
