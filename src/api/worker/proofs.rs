//! GET and POST /v1/worker/tasks/{id}/proofs

use axum::extract::{Request, State};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::middleware::limits::uploads::{Reserved, Sender, UploadPermit};
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::body;
use crate::api::request::idempotency::idempotency_key;
use crate::api::request::multipart::{self, Wanted};
use crate::api::request::path::TaskPath;
use crate::api::request::query::PageQuery;
use crate::api::request::submission::{self, SubmitProof, files_by_type};
use crate::api::response::json::JsonResponse;
use crate::api::response::page::OffsetList;
use crate::api::response::proofs::with_files;
use crate::api::response::submitted::Submitted;
use crate::domain::uploads::BYTES_A_DAY;
use crate::domain::{Submission, WorkerId};
use crate::limits::ClientAddress;
use crate::store::Tx;
use crate::usecases::{self, Expected, UseCaseError};
use crate::views::proof::ProofBody;

/// Submit proof
///
/// One attempt, with one file for each type that the task asks for. After a network error, retry
/// with the same `submission_id` or `Idempotency-Key`: it counts once.
#[utoipa::path(
    post, path = "/v1/worker/tasks/{id}/proofs", tag = "Workers", operation_id = "submitProof",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    request_body(content = SubmitProof, content_type = "multipart/form-data"),
    responses((status = 201, description = "The proofs", body = Submitted,
            links(("approve" = (operation_id = "approveProof", parameters(("id" = "$request.path.id"),
                    ("proof_id" = "$response.body#/data/0/id")))),
                ("reject" = (operation_id = "rejectProof", parameters(("id" = "$request.path.id"),
                    ("proof_id" = "$response.body#/data/0/id")))))),
        groups::Worker, groups::Body, errors::AccountSuspended, errors::TaskNotFound, errors::InvalidTaskState,
        errors::StorageFull, errors::FileTooLarge)
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
    let key = idempotency_key(request.headers());
    let begun = begin(&app, worker, &path, multipart::announced(&request));
    let (key, begun) = match begun.await.and_then(|begun| Ok((key?, begun))) {
        Ok(begun) => begun,
        Err(error) => return Err(body::refuse(error, request).await),
    };
    let (id, refused) = (begun.expected.task.id, begun.expected.refused);
    let user_agent = submission::user_agent(request.headers());
    let received = &begun.reserved.received;
    let form = multipart::read::<SubmitProof>(&app, request, &begun.wanted, received).await?;
    let mut details = submission::details(&form, &user_agent)?;
    details.submission_id = details.submission_id.or(key);
    let (name, now) = (details.submission_id.clone(), app.clock.now());
    let check = app.store.read(move |tx| {
        let task = usecases::own_task(tx, worker, id)?;
        let made = usecases::submission_was_made(tx, &task, worker, name.as_deref(), now)?;
        Ok::<_, UseCaseError>((task, made))
    });
    let (task, made) = check.await?;
    let files = submission::new_files(files_by_type(form), &task, &details, made, refused)?;
    let stored = app.submissions.store_all(files).await?;
    let record = move |tx: &mut Tx<'_>, submission: &Submission, now| {
        let task = usecases::own_task_to_prove(tx, worker, id)?;
        let submitted = usecases::submit_proof(tx, &task, worker, submission, now)?;
        usecases::flag_same_person(tx, &task, worker, address, now)?;
        Ok(submitted)
    };
    let account = task.owner.account;
    let recorded = app.submissions.record(account, details, stored, record);
    let proofs = recorded.await?;
    Submitted::answer(&app, id, proofs).await
}

type ProofList = OffsetList<ProofBody>;

/// List your proofs of a task
///
/// Your own attempts, oldest first, with the status of each and why it was rejected. Also for a task that
/// you gave back.
#[utoipa::path(
    get, path = "/v1/worker/tasks/{id}/proofs", tag = "Workers", operation_id = "listOwnProofs",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"),
        ("limit" = inline(Option<parameters::PageLimit>), Query, description = "Page size. More than 100 is served as 100"),
        ("offset" = inline(Option<parameters::PageOffset>), Query, description = "How many objects to skip")),
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
    let proofs = read.await?;
    let total = proofs.len() as i64;
    let first = usize::try_from(page.offset).unwrap_or(usize::MAX);
    let shown = proofs.into_iter().skip(first).take(page.limit as usize);
    JsonResponse::ok(&page.list(with_files(&app, shown.collect()).await?, total))
}

/// What is decided before the body is read.
struct Begun {
    expected: Expected,
    wanted: Wanted,
    reserved: Reserved,
    _permit: UploadPermit,
}

async fn begin(
    app: &App,
    worker: WorkerId,
    path: &TaskPath,
    announced: Option<u64>,
) -> Result<Begun, ApiError> {
    let (id, quota, now) = (path.id()?, app.submissions.quota, app.clock.now());
    let expect = app.store.read(move |tx| {
        let task = usecases::own_task(tx, worker, id)?;
        usecases::expect_submission(tx, task, worker, quota, now)
    });
    let expected = expect.await?;
    let permit = app.uploads.acquire(Sender::Worker(worker)).await?;
    let wanted = submission::wanted(&expected);
    let reserved = Reserved::new(app, worker, wanted.expect(announced)?, BYTES_A_DAY).await?;
    Ok(Begun {
        expected,
        wanted,
        reserved,
        _permit: permit,
    })
}
