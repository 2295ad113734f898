//! /v1/admin/queue: the review queue.

mod details;
mod item;

use axum::extract::State;
use serde_json::json;

use crate::api::App;
use crate::api::admin::query::QueueQuery;
use crate::api::admin::review_queue::item::{ItemBody, Shown, is_about_worker};
use crate::api::admin::workers::viewed_documents;
use crate::api::admin::{AdminPost, ItemNote};
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::path::IdPath;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::admin::{self, ClaimedBy};
use crate::domain::{
    AdminKeyId, Environment, QueueItem, QueueItemId, QueueKind, QueueStatus, Timestamp,
};
use crate::store::Tx;
use crate::usecases::{self, Looker, UseCaseError};

type ItemPage = CursorList<ItemBody>;

/// List the review queue
///
/// Oldest first. Get an item to get the URLs of its documents.
#[utoipa::path(
    get, path = "/v1/admin/queue", tag = "Admin", operation_id = "listQueue",
    params(("status" = inline(Option<QueueStatus>), Query, description = "`open` when left out"),
        ("kind" = inline(Option<QueueKind>), Query, description = "Only this kind"),
        ("environment" = inline(Option<Environment>), Query,
            description = "Only items about tasks of this environment. What is about no task is `live`"),
        ("claimed" = inline(Option<ClaimedBy>), Query,
            description = "`me`: only items that you have claimed. `nobody`: only unclaimed items"),
        parameters::PageSize,
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
    let (now, processor) = (app.clock.now(), app.payments.processor.name());
    let read = app.store.snapshot(move |tx| {
        let mut items = Vec::new();
        for item in tx.queue_items(filter, cursor, limit + 1, now)? {
            items.push(Shown::read(tx, item, processor, now)?);
        }
        Ok::<_, UseCaseError>(items)
    });
    let mut items = read.await?;
    let meta = CursorMeta::cut(&mut items, limit, |shown| shown.item.id.to_string());
    let mut data = Vec::with_capacity(items.len());
    for shown in items {
        data.push(ItemBody::with_url(&app, shown).await?);
    }
    JsonResponse::ok(&meta.list(data))
}

/// Get an item of the review queue
///
/// With all that is needed to decide it. Operators and owners get signed URLs of the documents. That is
/// recorded in the audit log.
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
    let (now, processor) = (app.clock.now(), app.payments.processor.name());
    let read = app.store.snapshot(move |tx| {
        let item = tx.queue_item(id)?.ok_or(UseCaseError::ItemNotFound)?;
        let details = usecases::item_details(tx, &item, processor)?;
        Ok::<_, UseCaseError>((Shown::read(tx, item, processor, now)?, details))
    });
    let (shown, details) = read.await?;
    let worker = shown.item.worker;
    let worker = worker.filter(|_| is_about_worker(shown.item.kind));
    let mut body = ItemBody::with_url(&app, shown).await?;
    body.add(&app, details).await?;
    if let Some(worker) = worker {
        body.files = viewed_documents(&app, worker, Some(id), by).await?;
    }
    JsonResponse::ok(&body)
}

/// Changes an item and answers with its new state.
async fn change(
    app: &App,
    admin: AdminPost,
    id: Option<QueueItemId>,
    mut change: impl FnMut(&mut Tx<'_>, QueueItemId, Timestamp) -> Result<QueueItem, UseCaseError>
    + Send
    + 'static,
) -> Result<JsonResponse, ApiError> {
    let id = id.ok_or(UseCaseError::ItemNotFound)?;
    let processor = app.payments.processor.name();
    let work = move |tx: &mut Tx<'_>, now| {
        let item = change(tx, id, now)?;
        Shown::read(tx, item, processor, now)
    };
    admin.once(app).run(work, Shown::json).await
}

/// A required note.
pub struct AddNote {
    pub(super) note: String,
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
    params(("id" = inline(parameters::ItemId), Path, description = "Item ID"), IdempotencyKeyHeader), request_body = AddNote,
    responses((status = 200, description = "The item", body = ItemBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::ItemNotFound)
)]
pub async fn note(
    State(app): State<App>,
    IdPath(id): IdPath<QueueItemId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let (AddNote { note }, admin) = (post.read()?, post.admin);
    change(&app, post, id, move |tx, id, now| {
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
    params(("id" = inline(parameters::ItemId), Path, description = "Item ID"), IdempotencyKeyHeader), request_body = ItemNote,
    responses((status = 200, description = "The item", body = ItemBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::ItemNotFound, errors::ItemClaimed, errors::ItemClosed, errors::ItemNeedsDecision)
)]
pub async fn clear(
    State(app): State<App>,
    IdPath(id): IdPath<QueueItemId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let (ItemNote { note }, admin) = (post.read()?, post.admin);
    change(&app, post, id, move |tx, id, now| {
        usecases::clear_item(tx, id, note.as_deref(), admin, now)
    })
    .await
}

type Claiming =
    fn(&mut Tx<'_>, QueueItemId, AdminKeyId, Timestamp) -> Result<QueueItem, UseCaseError>;

async fn claim_or_release(
    app: &App,
    post: AdminPost,
    id: Option<QueueItemId>,
    claiming: Claiming,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let admin = post.admin;
    change(app, post, id, move |tx, id, now| {
        claiming(tx, id, admin, now)
    })
    .await
}

/// Claim an item
///
/// For 15 minutes, no other admin can decide it. Claiming it again restarts the 15 minutes.
#[utoipa::path(
    post, path = "/v1/admin/queue/{id}/claim", tag = "Admin", operation_id = "claimQueueItem",
    params(("id" = inline(parameters::ItemId), Path, description = "Item ID"), IdempotencyKeyHeader),
    responses((status = 200, description = "The item", body = ItemBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::ItemNotFound, errors::ItemClaimed, errors::ItemClosed)
)]
pub async fn claim(
    State(app): State<App>,
    IdPath(id): IdPath<QueueItemId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    claim_or_release(&app, post, id, usecases::claim_item).await
}

/// Release an item
///
/// Other admins can claim it again.
#[utoipa::path(
    post, path = "/v1/admin/queue/{id}/release", tag = "Admin", operation_id = "releaseQueueItem",
    params(("id" = inline(parameters::ItemId), Path, description = "Item ID"), IdempotencyKeyHeader),
    responses((status = 200, description = "The item", body = ItemBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::ItemNotFound, errors::ItemClaimed, errors::ItemClosed)
)]
pub async fn release(
    State(app): State<App>,
    IdPath(id): IdPath<QueueItemId>,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    claim_or_release(&app, post, id, usecases::release_item).await
}
