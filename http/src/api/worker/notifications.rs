//! /v1/worker/notifications: what a worker was told.

pub mod push;
pub mod push_settings;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::IdPath;
use crate::api::request::query::Parameters;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::CursorMeta;
use crate::domain::events::notification;
use crate::domain::{Notification, NotificationId, NotificationKind, Timestamp};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::views::{Id, examples, to_json};

/// More than this are not counted, and not marked at once.
const MOST_UNREAD: i64 = 1_000;

/// A notification to the worker.
#[derive(Serialize, ToSchema)]
#[schema(as = WorkerNotification, example = json!(NotificationBody::example()))]
pub struct NotificationBody {
    #[schema(value_type = Id)]
    id: String,
    kind: NotificationKind,
    /// The task that it is about.
    #[schema(required, value_type = Option<Id>)]
    task_id: Option<String>,
    subject: String,
    paragraphs: Vec<String>,
    read: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl NotificationBody {
    fn example() -> Self {
        let task = examples::rejected().task;
        let text = notification::rejected(&task, examples::REASON);
        Self {
            id: examples::notification_id().to_string(),
            kind: NotificationKind::ProofRejected,
            task_id: Some(task.id.to_string()),
            subject: text.subject,
            paragraphs: text.paragraphs,
            read: false,
            created_at: examples::REVIEWED,
        }
    }
}

impl From<Notification> for NotificationBody {
    fn from(notification: Notification) -> Self {
        Self {
            id: notification.id.to_string(),
            kind: notification.kind,
            task_id: notification.task.map(|task| task.to_string()),
            subject: notification.subject,
            paragraphs: notification.paragraphs,
            read: !notification.unread,
            created_at: notification.created_at,
        }
    }
}

/// A page of notifications.
#[derive(Serialize, ToSchema)]
pub struct WorkerNotifications {
    data: Vec<NotificationBody>,
    meta: CursorMeta,
    /// How many are unread in all; 1,000 for more.
    #[schema(example = 1)]
    unread_count: i64,
}

/// Which notifications.
pub struct NotificationsQuery {
    cursor: Option<NotificationId>,
    limit: i64,
}

impl<S: Send + Sync> FromRequestParts<S> for NotificationsQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut parameters = Parameters::of(parts.uri.query().unwrap_or_default());
        let (cursor, limit) = parameters.cursor(NotificationId::parse);
        parameters.finish().map_err(ApiError::Validation)?;
        Ok(Self { cursor, limit })
    }
}

/// List your notifications
///
/// What you were told by e-mail and push in the last 90 days, newest first.
#[utoipa::path(
    get, path = "/v1/worker/notifications", tag = "Workers", operation_id = "listOwnNotifications",
    params(parameters::PageSize,
        ("cursor" = inline(Option<parameters::IdCursor>), Query, description = "`next_cursor` of the previous page")),
    responses((status = 200, description = "A page of notifications", body = WorkerNotifications),
        groups::Worker, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: WorkerCaller,
    query: NotificationsQuery,
) -> Result<JsonResponse, ApiError> {
    let (worker, NotificationsQuery { cursor, limit }) = (caller.worker.id, query);
    let read = app.store.snapshot(move |tx| {
        let found = tx.notifications_of_worker(worker, cursor, limit + 1)?;
        Ok::<_, StoreError>((found, tx.count_unread(worker, MOST_UNREAD)?))
    });
    let (mut found, unread_count) = read.await?;
    let meta = CursorMeta::cut(&mut found, limit, |notification| {
        notification.id.to_string()
    });
    JsonResponse::ok(&WorkerNotifications {
        data: found.into_iter().map(NotificationBody::from).collect(),
        meta,
        unread_count,
    })
}

/// Mark a notification as read
#[utoipa::path(
    post, path = "/v1/worker/notifications/{id}/read", tag = "Workers", operation_id = "readNotification",
    params(("id" = inline(parameters::NotificationId), Path, description = "Notification ID"), IdempotencyKeyHeader),
    responses((status = 200, description = "The notification", body = NotificationBody),
        groups::Worker, groups::Body, groups::Idempotency, errors::NotificationNotFound)
)]
pub async fn read(
    State(app): State<App>,
    caller: WorkerCaller,
    IdPath(id): IdPath<NotificationId>,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let id = id.ok_or(UseCaseError::NotificationNotFound)?;
    let worker = caller.worker.id;
    let mark = move |tx: &mut Tx<'_>, _| {
        let marked = tx.mark_read(worker, id)?;
        let marked = marked.ok_or(UseCaseError::NotificationNotFound)?;
        Ok(NotificationBody::from(marked))
    };
    let render = |marked: &NotificationBody| to_json(marked);
    let effect = Idempotent::new(&app, caller.requester(), post);
    effect.run(mark, render).await
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"unread_count": 0}))]
pub struct AllRead {
    /// Not 0 if there were more than 1,000, or if another one has just come.
    unread_count: i64,
}

/// Mark all notifications as read
///
/// The oldest 1,000 at a time.
#[utoipa::path(
    post, path = "/v1/worker/notifications/read_all", tag = "Workers", operation_id = "readAllNotifications",
    params(IdempotencyKeyHeader),
    responses((status = 200, description = "How many are left", body = AllRead),
        groups::Worker, groups::Body, groups::Idempotency)
)]
pub async fn read_all(
    State(app): State<App>,
    caller: WorkerCaller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let worker = caller.worker.id;
    let mark = move |tx: &mut Tx<'_>, _| {
        tx.mark_all_read(worker, MOST_UNREAD)?;
        let unread_count = tx.count_unread(worker, MOST_UNREAD)?;
        Ok(AllRead { unread_count })
    };
    let render = |left: &AllRead| to_json(left);
    let effect = Idempotent::new(&app, caller.requester(), post);
    effect.run(mark, render).await
}
