//! /v1/admin/queue: the review queue.

use axum::extract::{Request, State};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::admin::query::QueueQuery;
use crate::api::admin::workers::{DocumentBody, documents, viewed_documents};
use crate::api::admin::{ItemNote, expect_no_fields};
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::path::IdPath;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::api::response::proofs::with_file;
use crate::api::response::workers::payout_status;
use crate::domain::admin::{self, ClaimedBy};
use crate::domain::{
    AdminKeyId, PayoutStatus, ProofId, QueueItem, QueueItemId, QueueKind, QueueStatus, Timestamp,
    WorkerId,
};
use crate::store::Tx;
use crate::usecases::{self, Looker, UseCaseError};
use crate::views::proof::ProofBody;
use crate::views::worker::WorkerBody;
use crate::views::{Id, examples};

type ItemPage = CursorList<ItemBody>;

#[derive(Serialize, ToSchema)]
#[schema(as = ReviewItem, example = json!(ItemBody::example()))]
pub struct ItemBody {
    #[schema(value_type = Id)]
    id: String,
    kind: QueueKind,
    status: QueueStatus,
    /// ID of the proof, the worker or the task that the item is about.
    #[schema(value_type = Id)]
    subject_id: String,
    #[schema(required, value_type = Option<Id>)]
    task_id: Option<String>,
    #[schema(required, value_type = Option<Id>)]
    worker_id: Option<String>,
    #[schema(required)]
    note: Option<String>,
    /// Only for a flagged proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    proof: Option<ProofBody>,
    /// Only for a verification.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    worker: Option<WorkerBody>,
    /// The documents of a verification.
    files: Vec<DocumentBody>,
    /// ID of the admin key that has claimed the item, until `claimed_until`.
    #[schema(required, value_type = Option<Id>)]
    claimed_by: Option<String>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    claimed_until: Option<Timestamp>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    decided_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl ItemBody {
    /// Without what it is about.
    fn bare(item: &QueueItem, now: Timestamp) -> Self {
        let holder = item.holder(now);
        Self {
            id: item.id.to_string(),
            kind: item.kind,
            status: item.status,
            subject_id: item.subject.clone(),
            task_id: item.task.map(|id| id.to_string()),
            worker_id: item.worker.map(|id| id.to_string()),
            note: item.note.clone(),
            proof: None,
            worker: None,
            files: Vec::new(),
            claimed_by: holder.map(|admin| admin.to_string()),
            claimed_until: item.claimed_until.filter(|_| holder.is_some()),
            decided_at: item.decided_at,
            created_at: item.created_at,
        }
    }

    fn example() -> Self {
        let worker = examples::applicant();
        let (id, kind) = (examples::review_item_id(), QueueKind::WorkerVerification);
        let item = QueueItem {
            worker: Some(worker.id),
            ..QueueItem::new(id, kind, worker.id, examples::SIGNED_UP)
        };
        Self {
            worker: Some(WorkerBody::of(worker, PayoutStatus::None)),
            files: vec![DocumentBody::example()],
            ..Self::bare(&item, examples::SIGNED_UP)
        }
    }

    async fn of(app: &App, item: QueueItem) -> Result<Self, ApiError> {
        let mut body = Self::bare(&item, app.clock.now());
        match item.kind {
            QueueKind::FlaggedProof => {
                let id = ProofId::parse(&item.subject);
                let read = move |tx: &mut crate::store::Tx<'_>| match id {
                    Some(id) => tx.any_proof(id),
                    None => Ok(None),
                };
                if let Some(proof) = app.store.read(read).await? {
                    body.proof = Some(with_file(app, proof).await?);
                }
            }
            QueueKind::WorkerVerification => {
                if let Some(worker) = item.worker {
                    body.add_worker(app, worker).await?;
                }
            }
            QueueKind::Dispute
            | QueueKind::FailedPayout
            | QueueKind::ChargeDispute
            | QueueKind::RefundFailed
            | QueueKind::TransferReversed
            | QueueKind::PayoutFailed
            | QueueKind::SamePerson => {}
        }
        Ok(body)
    }

    async fn add_worker(&mut self, app: &App, id: WorkerId) -> Result<(), ApiError> {
        let worker = app.store.read(move |tx| tx.worker(id)).await?;
        if let Some(worker) = worker {
            let payout = payout_status(app, id).await?;
            self.worker = Some(WorkerBody::of(worker, payout));
        }
        self.files = documents(app, id).await?;
        Ok(())
    }
}

/// List the review queue
///
/// Oldest first. Get an item to get the URLs of its documents.
#[utoipa::path(
    get, path = "/v1/admin/queue", tag = "Admin", operation_id = "listQueue",
    params(("status" = inline(Option<QueueStatus>), Query, description = "`open` when left out"),
        ("kind" = inline(Option<QueueKind>), Query, description = "Only this kind"),
        ("claimed" = inline(Option<ClaimedBy>), Query,
            description = "`me`: only items that you have claimed. `nobody`: only unclaimed items"),
        ("limit" = inline(Option<parameters::PageLimit>), Query, description = "Page size. More than 100 is served as 100"),
        ("cursor" = inline(Option<parameters::IdCursor>), Query, description = "`next_cursor` of the previous page")),
    responses((status = 200, description = "A page of the review queue", body = ItemPage),
        groups::Admin, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    query: QueueQuery,
) -> Result<JsonResponse, ApiError> {
    let QueueQuery {
        filter,
        cursor,
        limit,
    } = query;
    let now = app.clock.now();
    let mut items = app
        .store
        .snapshot(move |tx| tx.queue_items(filter, cursor, limit + 1, now))
        .await?;
    let meta = CursorMeta::cut(&mut items, limit, |item| item.id.to_string());
    let mut data = Vec::with_capacity(items.len());
    for item in items {
        data.push(ItemBody::of(&app, item).await?);
    }
    JsonResponse::ok(&meta.list(data))
}

/// Get an item of the review queue
///
/// Operators and owners get signed URLs of the documents. That is recorded in the audit log.
#[utoipa::path(
    get, path = "/v1/admin/queue/{id}", tag = "Admin", operation_id = "getQueueItem",
    params(("id" = inline(parameters::ItemId), Path, description = "Item ID")),
    responses((status = 200, description = "The item", body = ItemBody),
        groups::Admin, errors::ItemNotFound)
)]
pub async fn item(
    State(app): State<App>,
    by: Looker,
    IdPath(id): IdPath<QueueItemId>,
) -> Result<JsonResponse, ApiError> {
    let id = id.ok_or(UseCaseError::ItemNotFound)?;
    let item = app.store.read(move |tx| tx.queue_item(id)).await?;
    let item = item.ok_or(UseCaseError::ItemNotFound)?;
    let worker = item
        .worker
        .filter(|_| item.kind == QueueKind::WorkerVerification);
    let mut body = ItemBody::of(&app, item).await?;
    if let Some(worker) = worker {
        body.files = viewed_documents(&app, worker, Some(id), by).await?;
    }
    JsonResponse::ok(&body)
}

/// Changes an item and answers with its new state.
async fn change(
    app: &App,
    id: Option<QueueItemId>,
    mut change: impl FnMut(&mut Tx<'_>, QueueItemId, Timestamp) -> Result<QueueItem, UseCaseError>
    + Send
    + 'static,
) -> Result<JsonResponse, ApiError> {
    let (id, clock) = (id.ok_or(UseCaseError::ItemNotFound)?, app.clock.clone());
    let changed = app.store.write(move |tx| change(tx, id, clock.now()));
    JsonResponse::ok(&ItemBody::of(app, changed.await?).await?)
}

/// A required note.
pub struct AddNote {
    note: String,
}

impl RequestBody for AddNote {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let note = fields.text("note", &admin::NOTE);
        Some(Self { note: note? })
    }
}

request_bodies! {
    AddNote = json!({"note": "Known place without GPS reception."});
}

/// Add a note to an item
#[utoipa::path(
    post, path = "/v1/admin/queue/{id}/note", tag = "Admin", operation_id = "noteQueueItem",
    params(("id" = inline(parameters::ItemId), Path, description = "Item ID")), request_body = AddNote,
    responses((status = 200, description = "The item", body = ItemBody),
        groups::Admin, groups::Body, errors::ItemNotFound)
)]
pub async fn note(
    State(app): State<App>,
    AdminCaller(admin): AdminCaller,
    IdPath(id): IdPath<QueueItemId>,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let AddNote { note } = body::json(request, app.timeouts).await?;
    change(&app, id, move |tx, id, now| {
        usecases::note_item(tx, id, &note, admin, now)
    })
    .await
}

/// Clear an item
///
/// Removes an item from the queue that needs no other decision: a flagged proof, which the developer
/// can still approve or reject, a report of the payment processor, or a worker who seems to be the
/// developer.
#[utoipa::path(
    post, path = "/v1/admin/queue/{id}/clear", tag = "Admin", operation_id = "clearQueueItem",
    params(("id" = inline(parameters::ItemId), Path, description = "Item ID")), request_body = ItemNote,
    responses((status = 200, description = "The item", body = ItemBody),
        groups::Admin, groups::Body, errors::ItemNotFound, errors::ItemClaimed, errors::ItemClosed)
)]
pub async fn clear(
    State(app): State<App>,
    AdminCaller(admin): AdminCaller,
    IdPath(id): IdPath<QueueItemId>,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let ItemNote { note } = body::json(request, app.timeouts).await?;
    change(&app, id, move |tx, id, now| {
        usecases::clear_item(tx, id, note.as_deref(), admin, now)
    })
    .await
}

type Claiming =
    fn(&mut Tx<'_>, QueueItemId, AdminKeyId, Timestamp) -> Result<QueueItem, UseCaseError>;

async fn claim_or_release(
    app: &App,
    AdminCaller(admin): AdminCaller,
    id: Option<QueueItemId>,
    request: Request,
    claiming: Claiming,
) -> Result<JsonResponse, ApiError> {
    expect_no_fields(app, request).await?;
    change(app, id, move |tx, id, now| claiming(tx, id, admin, now)).await
}

/// Claim an item
///
/// For 15 minutes, no other admin can decide it. Claiming it again restarts the 15 minutes.
#[utoipa::path(
    post, path = "/v1/admin/queue/{id}/claim", tag = "Admin", operation_id = "claimQueueItem",
    params(("id" = inline(parameters::ItemId), Path, description = "Item ID")),
    responses((status = 200, description = "The item", body = ItemBody),
        groups::Admin, groups::Body, errors::ItemNotFound, errors::ItemClaimed, errors::ItemClosed)
)]
pub async fn claim(
    State(app): State<App>,
    admin: AdminCaller,
    IdPath(id): IdPath<QueueItemId>,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    claim_or_release(&app, admin, id, request, usecases::claim_item).await
}

/// Release an item
///
/// Other admins can claim it again.
#[utoipa::path(
    post, path = "/v1/admin/queue/{id}/release", tag = "Admin", operation_id = "releaseQueueItem",
    params(("id" = inline(parameters::ItemId), Path, description = "Item ID")),
    responses((status = 200, description = "The item", body = ItemBody),
        groups::Admin, groups::Body, errors::ItemNotFound, errors::ItemClaimed, errors::ItemClosed)
)]
pub async fn release(
    State(app): State<App>,
    admin: AdminCaller,
    IdPath(id): IdPath<QueueItemId>,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    claim_or_release(&app, admin, id, request, usecases::release_item).await
}
