//! /v1/admin: what admins have to look at, and what they decide.

use axum::extract::{Request, State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::answer::Answer;
use crate::api::authentication::AdminCaller;
use crate::api::error::ApiError;
use crate::api::fields::Fields;
use crate::api::openapi::{PageLimit, errors};
use crate::api::openapi_examples::AdminExample;
use crate::api::path::IdPath;
use crate::api::proofs;
use crate::api::query::QueueQuery;
use crate::api::workers::{WorkerBody, payout_status};
use crate::api::{App, body};
use crate::domain::{
    ProofId, QueueItem, QueueItemId, QueueKind, QueueStatus, Timestamp, WorkerId, admin,
};
use crate::files::FileKey;
use crate::objects::proof::ProofBody;
use crate::usecases::Refusal;

#[derive(Serialize, ToSchema)]
#[schema(example = json!(AdminExample::Item.value()))]
pub struct ItemBody {
    id: String,
    kind: QueueKind,
    status: QueueStatus,
    /// The proof, the worker or the task that it is about.
    subject_id: String,
    #[schema(required)]
    task_id: Option<String>,
    #[schema(required)]
    worker_id: Option<String>,
    #[schema(required)]
    note: Option<String>,
    /// Of a flagged proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    proof: Option<ProofBody>,
    /// Of a verification.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    worker: Option<WorkerBody>,
    /// The documents of a verification.
    files: Vec<FileBody>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    decided_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
struct FileBody {
    /// `identity` or `selfie`.
    kind: String,
    content_type: String,
    /// Signed; good for one hour.
    file_url: String,
}

impl ItemBody {
    async fn of(app: &App, item: QueueItem) -> Result<Self, ApiError> {
        let mut body = Self {
            id: item.id.to_string(),
            kind: item.kind,
            status: item.status,
            subject_id: item.subject.clone(),
            task_id: item.task.map(|id| id.to_string()),
            worker_id: item.worker.map(|id| id.to_string()),
            note: item.note,
            proof: None,
            worker: None,
            files: Vec::new(),
            decided_at: item.decided_at,
            created_at: item.created_at,
        };
        match item.kind {
            QueueKind::FlaggedProof => {
                let id = ProofId::parse(&item.subject);
                let read = move |tx: &mut crate::store::Tx<'_>| match id {
                    Some(id) => tx.any_proof(id),
                    None => Ok(None),
                };
                if let Some(proof) = app.store.read(read).await? {
                    body.proof = Some(proofs::with_file(app, proof).await?);
                }
            }
            QueueKind::WorkerVerification => {
                if let Some(worker) = item.worker {
                    body.add_worker(app, worker).await?;
                }
            }
            QueueKind::Dispute | QueueKind::FailedPayout => {}
        }
        Ok(body)
    }

    async fn add_worker(&mut self, app: &App, id: WorkerId) -> Result<(), ApiError> {
        let (worker, files) = app
            .store
            .read(move |tx| Ok::<_, Refusal>((tx.worker(id)?, tx.verification_files(id)?)))
            .await?;
        if let Some(worker) = worker {
            let payout = payout_status(app, id).await?;
            self.worker = Some(WorkerBody::of(worker, payout));
        }
        for file in files {
            if let Some(key) = FileKey::parse(&file.key) {
                let now = app.clock.now();
                let file_url = app.files.signed_url(key, &file.content_type, now).await?;
                self.files.push(FileBody {
                    kind: file.kind,
                    content_type: file.content_type,
                    file_url,
                });
            }
        }
        Ok(())
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(AdminExample::Queue.value()))]
pub struct QueueBody {
    data: Vec<ItemBody>,
    meta: QueueMeta,
}

#[derive(Serialize, ToSchema)]
struct QueueMeta {
    limit: i64,
    /// Asks for the next page; null on the last one.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// List the queue
///
/// Oldest first, each item with its files.
#[utoipa::path(
    get, path = "/v1/admin/queue", tag = "Admin", operation_id = "listQueue",
    params(("status" = inline(Option<QueueStatus>), Query, description = "`open` when left out"),
        ("kind" = inline(Option<QueueKind>), Query, description = "Only this kind"),
        ("limit" = inline(Option<PageLimit>), Query, description = "Page size, 20 when left out"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, description = "A page of the queue", body = QueueBody),
        errors::Common, errors::Query)
)]
pub async fn queue(
    State(app): State<App>,
    _: AdminCaller,
    query: QueueQuery,
) -> Result<Answer, ApiError> {
    let QueueQuery {
        status,
        kind,
        after,
        limit,
    } = query;
    let items = app
        .store
        .snapshot(move |tx| {
            let (mut after, mut found) = (after, Vec::new());
            while (found.len() as i64) <= limit {
                let page = tx.queue_items(status, after, 100)?;
                let Some(last) = page.last() else { break };
                after = Some(last.id);
                let fits = |item: &QueueItem| kind.is_none_or(|kind| kind == item.kind);
                found.extend(page.into_iter().filter(fits));
            }
            Ok::<_, Refusal>(found)
        })
        .await?;
    let more = items.len() as i64 > limit;
    let page: Vec<_> = items.into_iter().take(limit as usize).collect();
    let last = page.last().filter(|_| more);
    let next_cursor = last.map(|item| item.id.to_string());
    let mut data = Vec::with_capacity(page.len());
    for item in page {
        data.push(ItemBody::of(&app, item).await?);
    }
    Answer::ok(&QueueBody {
        data,
        meta: QueueMeta { limit, next_cursor },
    })
}

/// Get an item of the queue
#[utoipa::path(
    get, path = "/v1/admin/queue/{id}", tag = "Admin", operation_id = "getQueueItem",
    params(("id" = String, Path, description = "Id of the item")),
    responses((status = 200, description = "The item", body = ItemBody),
        errors::Common, errors::ItemNotFound)
)]
pub async fn item(
    State(app): State<App>,
    _: AdminCaller,
    IdPath(id): IdPath<QueueItemId>,
) -> Result<Answer, ApiError> {
    let id = id.ok_or(Refusal::ItemNotFound)?;
    let item = app.store.read(move |tx| tx.queue_item(id)).await?;
    Answer::ok(&ItemBody::of(&app, item.ok_or(Refusal::ItemNotFound)?).await?)
}

#[derive(ToSchema)]
#[schema(example = json!({"note": "Known place without GPS reception."}))]
#[allow(dead_code, reason = "documents the body that `note` and `clear` read")]
pub struct ItemNote {
    #[schema(min_length = 1, max_length = 2000)]
    note: Option<String>,
}

pub(super) async fn given_note(app: &App, request: Request) -> Result<Option<String>, ApiError> {
    let object = body::object(request, app.timeouts).await?;
    let mut fields = Fields::of(&object);
    let note = fields.optional_text("note", admin::note);
    fields.finish()?;
    Ok(note)
}

/// Note something about an item
#[utoipa::path(
    post, path = "/v1/admin/queue/{id}/note", tag = "Admin", operation_id = "noteQueueItem",
    params(("id" = String, Path, description = "Id of the item")), request_body = ItemNote,
    responses((status = 200, description = "The item", body = ItemBody),
        errors::Common, errors::Body, errors::ItemNotFound)
)]
pub async fn note(
    State(app): State<App>,
    _: AdminCaller,
    IdPath(id): IdPath<QueueItemId>,
    request: Request,
) -> Result<Answer, ApiError> {
    let note = given_note(&app, request).await?;
    let note = note.ok_or_else(|| ApiError::invalid("note", "is required"))?;
    let id = id.ok_or(Refusal::ItemNotFound)?;
    let item = app
        .store
        .write(move |tx| {
            tx.queue_item(id)?.ok_or(Refusal::ItemNotFound)?;
            tx.note_queue_item(id, &note)?;
            tx.queue_item(id)?.ok_or(Refusal::ItemNotFound)
        })
        .await?;
    Answer::ok(&ItemBody::of(&app, item).await?)
}

/// Clear a flagged proof
///
/// It leaves the queue. What the developer may do with the proof does not change.
#[utoipa::path(
    post, path = "/v1/admin/queue/{id}/clear", tag = "Admin", operation_id = "clearQueueItem",
    params(("id" = String, Path, description = "Id of the item")), request_body = ItemNote,
    responses((status = 200, description = "The item", body = ItemBody),
        errors::Common, errors::Body, errors::ItemNotFound)
)]
pub async fn clear(
    State(app): State<App>,
    AdminCaller(admin): AdminCaller,
    IdPath(id): IdPath<QueueItemId>,
    request: Request,
) -> Result<Answer, ApiError> {
    let note = given_note(&app, request).await?;
    let id = id.ok_or(Refusal::ItemNotFound)?;
    let clock = app.clock.clone();
    let item = app
        .store
        .write(move |tx| {
            let item = tx.queue_item(id)?.ok_or(Refusal::ItemNotFound)?;
            // Verifications and disputes are decided, not cleared.
            if item.kind != QueueKind::FlaggedProof {
                return Err(Refusal::ItemNotFound);
            }
            tx.close_queue_item(id, note.as_deref(), admin, clock.now())?;
            tx.queue_item(id)?.ok_or(Refusal::ItemNotFound)
        })
        .await?;
    Answer::ok(&ItemBody::of(&app, item).await?)
}
