//! GET and POST /v1/worker/tasks/{id}/proofs

use axum::extract::{Request, State};
use serde_json::{Map, Value};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::middleware::limits::uploads::{Reserved, Sender, UploadPermit};
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::idempotency::submission::{AnnouncedKey, Answer, Begin};
use crate::api::request::multipart::{self, Wanted};
use crate::api::request::path::TaskPath;
use crate::api::request::query::PageQuery;
use crate::api::request::submission::{
    self, NamedUploads, SubmitProof, SubmitUploads, files_by_type,
};
use crate::api::request::{body, fields};
use crate::api::response::json::JsonResponse;
use crate::api::response::page::OffsetList;
use crate::api::response::proofs::with_files;
use crate::api::response::submitted::Submitted;
use crate::domain::proofs::uploads::BYTES_A_DAY;
use crate::domain::{ProofType, Submission, Task, TaskId, WorkerId};
use crate::files::Received;
use crate::limits::ClientAddress;
use crate::store::Tx;
use crate::submission::SubmissionDetails;
use crate::usecases::{self, Expected, UseCaseError};
use crate::views::proof::ProofBody;

/// Submit proof
///
/// One attempt, with one file for each type that the task asks for: in a form, or uploaded before and named in
/// JSON. After a network error, retry with the same `submission_id` or `Idempotency-Key`: it counts once.
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/proofs", tag = "Workers", operation_id = "submitProof",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    request_body(content((SubmitProof = "multipart/form-data"), (SubmitUploads = "application/json"))),
    responses((status = 201, description = "The proofs", body = Submitted,
            links(("approve" = (operation_id = "approveProof", parameters(("id" = "$request.path.id"),
                    ("proof_id" = "$response.body#/data/0/id")))),
                ("reject" = (operation_id = "rejectProof", parameters(("id" = "$request.path.id"),
                    ("proof_id" = "$response.body#/data/0/id")))))),
        groups::Worker, groups::Body, groups::Idempotency, errors::AccountSuspended, errors::TaskNotFound, errors::InvalidTaskState,
        errors::StorageFull, errors::FileTooLarge, errors::UploadNotFound, errors::UploadIncomplete, errors::UploadGone)
)]
pub async fn submit(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    address: ClientAddress,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let address = address.subscriber();
    let worker = caller.worker.id;
    let key = AnnouncedKey::of(&request);
    let form = (!names_uploads(&request)).then(|| multipart::announced(&request));
    let begun = begin(&app, worker, &path, form);
    let (key, begun) = match begun.await.and_then(|begun| Ok((key?, begun))) {
        Ok(begun) => begun,
        Err(error) => return Err(body::refuse(error, request).await),
    };
    let (id, refused) = (begun.expected.task.id, begun.expected.refused);
    let (details, sent, meaning) = read(&app, request, &begun).await?;
    let key = key.with(caller.requester(), &meaning);
    let _claim = match key.begin(&app).await? {
        Begin::First(claim) => claim,
        Begin::Answered(answered) => return Ok(answered),
    };
    let name = details.submission_id.clone();
    let (task, made) = was_made(&app, worker, id, name.clone()).await?;
    let (files, uploads) = match sent {
        Sent::Files(files) => (
            submission::new_files(files, &task, &details, made, refused)?,
            Vec::new(),
        ),
        Sent::Uploads(ids) => {
            let ids = submission::new_files(ids, &task, &details, made, refused)?;
            match uploaded(&app, &task, worker, ids.clone()).await {
                Ok(files) => (files, ids),
                Err(error) => match was_made(&app, worker, id, name).await {
                    // The same submission, sent twice, has used them meanwhile.
                    Ok((_, true)) => (Vec::new(), Vec::new()),
                    _ => return Err(error),
                },
            }
        }
    };
    let stored = app.submissions.store_all(files).await?;
    let answer = Answer::prepare(&app, id, &stored, key).await?;
    let kept = answer.clone();
    let record = move |tx: &mut Tx<'_>, submission: &Submission, now| {
        kept.begin(tx, now)?;
        let task = usecases::own_task_to_prove(tx, worker, id)?;
        let (proofs, is_new) = usecases::submit_proof(tx, &task, worker, submission, now)?;
        if is_new {
            usecases::use_uploads(tx, &uploads, now)?;
            kept.keep(tx, &proofs, now)?;
        }
        usecases::flag_same_person(tx, &task, worker, address, now)?;
        Ok((proofs, is_new))
    };
    let account = task.owner.account;
    let recorded = app.submissions.record(account, details, stored, record);
    answer.send(&app, recorded.await).await
}

/// The task, and whether this submission to it was already recorded.
async fn was_made(
    app: &App,
    worker: WorkerId,
    id: TaskId,
    name: Option<String>,
) -> Result<(Task, bool), UseCaseError> {
    let now = app.clock.now();
    let check = app.store.read(move |tx| {
        let task = usecases::own_task(tx, worker, id)?;
        let made = usecases::submission_was_made(tx, &task, worker, name.as_deref(), now)?;
        Ok((task, made))
    });
    check.await
}

/// The files of a submission.
enum Sent {
    Files(Vec<(ProofType, Received)>),
    Uploads(NamedUploads),
}

/// Reads a form, or JSON that names uploads.
async fn read(
    app: &App,
    request: Request,
    begun: &Begun,
) -> Result<(SubmissionDetails, Sent, Map<String, Value>), ApiError> {
    let user_agent = submission::user_agent(request.headers());
    if names_uploads(&request) {
        let sent = body::required_object(request, app).await?;
        let body: SubmitUploads = fields::read(&sent)?;
        let (details, uploads) = body.details(&user_agent)?;
        return Ok((details, Sent::Uploads(uploads), sent));
    }
    let received = &begun.reserved.received;
    let form = multipart::read::<SubmitProof>(app, request, &begun.wanted, received).await?;
    let details = submission::details(&form, &user_agent)?;
    let meaning = form.meaning();
    Ok((details, Sent::Files(files_by_type(form)), meaning))
}

/// JSON is read whatever the Content-Type says.
fn names_uploads(request: &Request) -> bool {
    !multipart::is_multipart(request)
}

/// The files of uploads, each put together from its parts.
async fn uploaded(
    app: &App,
    task: &Task,
    worker: WorkerId,
    ids: NamedUploads,
) -> Result<Vec<(ProofType, Received)>, ApiError> {
    let (task, now) = (task.clone(), app.clock.now());
    let read = app
        .store
        .read(move |tx| usecases::whole_uploads(tx, &task, worker, &ids, now));
    Ok(app.resumable.assemble(read.await?).await?)
}

type ProofList = OffsetList<ProofBody>;

/// List your proofs of a task
///
/// Your own attempts, oldest first, with the status of each and why it was rejected. Also for a task that
/// you gave back.
#[utoipa::path(
    get, path = "/v1/worker/tasks/{id}/proofs", tag = "Workers", operation_id = "listOwnProofs",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        parameters::OffsetPage),
    responses((status = 200, description = "Your proofs, oldest first", body = ProofList),
        groups::Worker, groups::Query, errors::TaskNotFound)
)]
pub async fn list(
    State(app): State<App>,
    caller: WorkerCaller,
    path: TaskPath,
    PageQuery(page): PageQuery,
) -> Result<JsonResponse, ApiError> {
    let (worker, id) = (caller.worker.id, path.id()?);
    let read = app
        .store
        .read(move |tx| usecases::own_proofs(tx, worker, id));
    JsonResponse::ok(&page.part_of(with_files(&app, read.await?).await?))
}

/// What is decided before the body is read.
struct Begun {
    expected: Expected,
    wanted: Wanted,
    reserved: Reserved,
    _permit: UploadPermit,
}

/// For a form, `form` is the size that was announced, if any was.
async fn begin(
    app: &App,
    worker: WorkerId,
    path: &TaskPath,
    form: Option<Option<u64>>,
) -> Result<Begun, ApiError> {
    let (id, quota, now) = (path.id()?, app.submissions.quota, app.clock.now());
    let expect = app.store.read(move |tx| {
        let task = usecases::own_task(tx, worker, id)?;
        usecases::expect_submission(tx, task, worker, quota, now)
    });
    let expected = expect.await?;
    let permit = app.uploads.acquire(Sender::Worker(worker)).await?;
    let wanted = submission::wanted(&expected);
    let bytes = match form {
        Some(announced) => wanted.expect(announced)?,
        // The bytes of uploads were counted when they came.
        None => 0,
    };
    let reserved = Reserved::new(app, worker, bytes, BYTES_A_DAY).await?;
    Ok(Begun {
        expected,
        wanted,
        reserved,
        _permit: permit,
    })
}
