//! /v1/admin/workers: verify, refuse, suspend and restore workers.

use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::admin::query::WorkersQuery;
use crate::api::admin::{AdminPost, ItemNote};
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::path::IdPath;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::api::response::workers::payout_status;
use crate::domain::admin;
use crate::domain::rules::ListRule;
use crate::domain::tasks::Skill;
use crate::domain::{
    PayoutStatus, QueueItemId, Timestamp, VerificationFile, Worker, WorkerId, WorkerStatus,
};
use crate::files::FileKey;
use crate::store::{StoreError, Tx};
use crate::usecases::{self, Looker, UseCaseError, WorkerDecision};
use crate::views::worker::WorkerBody;
use crate::views::{examples, to_json};

type WorkerPage = CursorList<WorkerBody>;

/// A document that a worker has sent.
#[derive(Serialize, ToSchema)]
#[schema(as = Document)]
pub struct DocumentBody {
    /// `identity` or `selfie`.
    kind: String,
    content_type: String,
    /// Signed; good for one hour. Only for operators and owners, and only when they get this one item
    /// or worker; every such request is recorded in the audit log.
    #[schema(required)]
    file_url: Option<String>,
}

impl DocumentBody {
    fn of(file: VerificationFile, file_url: Option<String>) -> Self {
        Self {
            kind: file.kind,
            content_type: file.content_type,
            file_url,
        }
    }

    /// Without its URL.
    pub fn bare(file: VerificationFile) -> Self {
        Self::of(file, None)
    }

    pub fn example() -> Self {
        let file = examples::document();
        let file_url = examples::file_url(file.id);
        Self::of(file, Some(file_url))
    }
}

/// The documents of a worker, without their URLs.
async fn documents(app: &App, worker: WorkerId) -> Result<Vec<DocumentBody>, ApiError> {
    let read = app.store.read(move |tx| tx.verification_files(worker));
    let files = read.await?.into_iter();
    Ok(files.map(DocumentBody::bare).collect())
}

/// The documents of a worker, each with a signed URL if this admin may look. Looking is recorded.
pub async fn viewed_documents(
    app: &App,
    worker: WorkerId,
    item: Option<QueueItemId>,
    by: Looker,
) -> Result<Vec<DocumentBody>, ApiError> {
    let clock = app.clock.clone();
    let view = move |tx: &mut Tx<'_>| usecases::view_documents(tx, worker, item, by, clock.now());
    let Some(files) = app.store.write(view).await? else {
        return documents(app, worker).await;
    };
    let mut documents = Vec::new();
    for file in files {
        if let Some(key) = FileKey::parse(&file.key) {
            let now = app.clock.now();
            let file_url = app.files.signed_url(key, &file.content_type, now).await?;
            documents.push(DocumentBody::of(file, Some(file_url)));
        }
    }
    Ok(documents)
}

/// List workers
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/admin/workers", tag = "Admin", operation_id = "listWorkers",
    params(("status" = inline(Option<WorkerStatus>), Query, description = "Only in this status"),
        ("email" = inline(Option<parameters::Email>), Query, description = "Only the one with this e-mail address"),
        parameters::PageSize,
        ("cursor" = inline(Option<parameters::IdCursor>), Query, description = "`next_cursor` of the previous page")),
    responses((status = 200, description = "A page of workers", body = WorkerPage),
        groups::Admin, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    query: WorkersQuery,
) -> Result<JsonResponse, ApiError> {
    let WorkersQuery {
        filter,
        cursor,
        limit,
    } = query;
    let processor = app.payments.processor.name();
    let read = app.store.snapshot(move |tx| {
        let mut found = Vec::new();
        for worker in tx.workers_before(&filter, cursor, limit + 1)? {
            let account = tx.payout_account(worker.id, processor)?;
            let payout = account.map_or(PayoutStatus::None, |account| account.status);
            found.push((worker, payout));
        }
        Ok::<_, UseCaseError>(found)
    });
    let mut workers = read.await?;
    let meta = CursorMeta::cut(&mut workers, limit, |(worker, _)| worker.id.to_string());
    let data = workers.into_iter();
    JsonResponse::ok(
        &meta.list(
            data.map(|(worker, payout)| WorkerBody::of(worker, payout))
                .collect(),
        ),
    )
}

/// A worker with the documents that were sent.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerWithDocuments::example()))]
pub struct WorkerWithDocuments {
    worker: WorkerBody,
    /// When the worker was first verified.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    verified_at: Option<Timestamp>,
    files: Vec<DocumentBody>,
}

impl WorkerWithDocuments {
    fn of(worker: Worker, payout: PayoutStatus, files: Vec<DocumentBody>) -> Self {
        Self {
            verified_at: worker.verified_at,
            worker: WorkerBody::of(worker, payout),
            files,
        }
    }

    fn example() -> Self {
        let files = vec![DocumentBody::example()];
        Self::of(examples::worker(), PayoutStatus::Ready, files)
    }
}

/// Get a worker
///
/// Operators and owners get signed URLs of the documents. That is recorded in the audit log.
#[utoipa::path(
    get, path = "/v1/admin/workers/{id}", tag = "Admin", operation_id = "getWorkerAsAdmin",
    params(("id" = inline(parameters::WorkerId), Path, description = "Worker ID")),
    responses((status = 200, description = "The worker", body = WorkerWithDocuments),
        groups::Admin, errors::WorkerNotFound)
)]
pub async fn get(
    State(app): State<App>,
    by: Looker,
    IdPath(id): IdPath<WorkerId>,
) -> Result<JsonResponse, ApiError> {
    let id = id.ok_or(UseCaseError::WorkerNotFound)?;
    let worker = app.store.read(move |tx| tx.worker(id)).await?;
    let worker = worker.ok_or(UseCaseError::WorkerNotFound)?;
    let payout = payout_status(&app, id).await?;
    let files = viewed_documents(&app, id, None, by).await?;
    JsonResponse::ok(&WorkerWithDocuments::of(worker, payout, files))
}

async fn decide(
    app: &App,
    post: AdminPost,
    id: Option<WorkerId>,
    decision: WorkerDecision,
) -> Result<JsonResponse, ApiError> {
    let (ItemNote { note }, by) = (post.read()?, post.by());
    let id = id.ok_or(UseCaseError::WorkerNotFound)?;
    let processor = app.payments.processor.name();
    let work = move |tx: &mut Tx<'_>, now| {
        let decision = (decision, note.as_deref());
        let worker = usecases::decide_about_worker(tx, id, decision, &by, now)?;
        Ok((worker, usecases::payout_status(tx, id, processor)?))
    };
    post.once(app).run(work, render).await
}

fn render((worker, payout): &(Worker, PayoutStatus)) -> Result<String, StoreError> {
    to_json(&WorkerBody::of(worker.clone(), *payout))
}

/// Verify a worker
#[utoipa::path(
    post, path = "/v1/admin/workers/{id}/verify", tag = "Admin", operation_id = "verifyWorker",
    params(("id" = inline(parameters::WorkerId), Path, description = "Worker ID"), IdempotencyKeyHeader), request_body = ItemNote,
    responses((status = 200, description = "The worker is verified", body = WorkerBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::WorkerNotFound, errors::InvalidWorkerState, errors::ItemClaimed)
)]
pub async fn verify(
    State(app): State<App>,
    IdPath(id): IdPath<WorkerId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    decide(&app, post, id, WorkerDecision::Verify).await
}

/// Refuse a worker's documents
#[utoipa::path(
    post, path = "/v1/admin/workers/{id}/refuse", tag = "Admin", operation_id = "refuseWorker",
    params(("id" = inline(parameters::WorkerId), Path, description = "Worker ID"), IdempotencyKeyHeader), request_body = ItemNote,
    responses((status = 200, description = "The worker may send others", body = WorkerBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::WorkerNotFound, errors::InvalidWorkerState, errors::ItemClaimed)
)]
pub async fn refuse(
    State(app): State<App>,
    IdPath(id): IdPath<WorkerId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    decide(&app, post, id, WorkerDecision::Refuse).await
}

/// Suspend a worker
#[utoipa::path(
    post, path = "/v1/admin/workers/{id}/suspend", tag = "Admin", operation_id = "suspendWorker",
    params(("id" = inline(parameters::WorkerId), Path, description = "Worker ID"), IdempotencyKeyHeader), request_body = ItemNote,
    responses((status = 200, description = "The worker is suspended", body = WorkerBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::WorkerNotFound, errors::InvalidWorkerState)
)]
pub async fn suspend(
    State(app): State<App>,
    IdPath(id): IdPath<WorkerId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    decide(&app, post, id, WorkerDecision::Suspend).await
}

/// Restore a worker
///
/// A worker who was verified before is verified again.
#[utoipa::path(
    post, path = "/v1/admin/workers/{id}/restore", tag = "Admin", operation_id = "restoreWorker",
    params(("id" = inline(parameters::WorkerId), Path, description = "Worker ID"), IdempotencyKeyHeader), request_body = ItemNote,
    responses((status = 200, description = "The worker is restored", body = WorkerBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::WorkerNotFound, errors::InvalidWorkerState)
)]
pub async fn restore(
    State(app): State<App>,
    IdPath(id): IdPath<WorkerId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    decide(&app, post, id, WorkerDecision::Restore).await
}

pub struct ConfirmSkills {
    confirmed: Vec<Skill>,
    note: Option<String>,
}

impl RequestBody for ConfirmSkills {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let confirmed = fields
            .doc("All skills that are confirmed from now on. An empty list takes all back.")
            .choices("confirmed", &ListRule::ANY);
        let note = fields.optional_text("note", &admin::NOTE);
        Some(Self {
            confirmed: confirmed?,
            note,
        })
    }
}

request_bodies! {
    ConfirmSkills = json!({"confirmed": ["notary"]});
}

/// Confirm skills of a worker
///
/// Some skills count only when they are confirmed: `notary`, unless the operator has set others.
#[utoipa::path(
    post, path = "/v1/admin/workers/{id}/skills", tag = "Admin", operation_id = "confirmSkills",
    params(("id" = inline(parameters::WorkerId), Path, description = "Worker ID"), IdempotencyKeyHeader),
    request_body = ConfirmSkills,
    responses((status = 200, description = "The worker", body = WorkerBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::WorkerNotFound, errors::InvalidWorkerState, errors::ItemClaimed)
)]
pub async fn confirm_skills(
    State(app): State<App>,
    IdPath(id): IdPath<WorkerId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let (ConfirmSkills { confirmed, note }, by) = (post.read()?, post.by());
    let id = id.ok_or(UseCaseError::WorkerNotFound)?;
    let processor = app.payments.processor.name();
    let work = move |tx: &mut Tx<'_>, now| {
        let confirmed = (confirmed.as_slice(), note.as_deref());
        let worker = usecases::confirm_skills(tx, id, confirmed, &by, now)?;
        Ok((worker, usecases::payout_status(tx, id, processor)?))
    };
    post.once(&app).run(work, render).await
}

/// A link with which a worker chooses a new password.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(WorkerResetLink::example()))]
pub struct WorkerResetLink {
    /// It works once. Whoever has it can sign in as the worker: hand it to nobody else.
    url: String,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl WorkerResetLink {
    fn json((url, expires_at): &(String, Timestamp)) -> Result<String, StoreError> {
        to_json(&Self {
            url: url.clone(),
            expires_at: *expires_at,
        })
    }

    fn example() -> Self {
        Self {
            url: examples::link_url("/reset"),
            expires_at: examples::SIGNED_UP,
        }
    }
}

/// Make a reset link for a worker
///
/// For a worker who forgot the password and gets no mail. The link works once, for 30 minutes; links from
/// before are void. It is recorded in the audit log.
#[utoipa::path(
    post, path = "/v1/admin/workers/{id}/reset_link", tag = "Admin",
    operation_id = "makeWorkerResetLink",
    params(("id" = inline(parameters::WorkerId), Path, description = "Worker ID"), IdempotencyKeyHeader),
    responses((status = 201, description = "The link", body = WorkerResetLink),
        groups::Admin, groups::Body, groups::Idempotency, errors::WorkerNotFound)
)]
pub async fn reset_link(
    State(app): State<App>,
    IdPath(id): IdPath<WorkerId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let (id, by) = (id.ok_or(UseCaseError::WorkerNotFound)?, post.by());
    let url = app.files.public_url().to_owned();
    let work = move |tx: &mut Tx<'_>, now| {
        let made = usecases::make_worker_reset_link(tx, id, &by, now)?;
        Ok((format!("{url}{}", made.path()), made.link.expires_at))
    };
    let request = post.once(&app).created().sealed();
    request.run(work, WorkerResetLink::json).await
}
