//! /v1/admin/notices: notifications to workers and developers.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::admin::query::NotificationsQuery;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{groups, parameters};
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::events::notification::{self, NotificationText};
use crate::domain::{Notification, NotificationKind, NotificationStatus, Recipient, Timestamp};
use crate::views::{Id, examples};

type NotificationPage = CursorList<NotificationBody>;

/// A notification by e-mail.
#[derive(Serialize, ToSchema)]
#[schema(as = Notification, example = json!(NotificationBody::example()))]
pub struct NotificationBody {
    #[schema(value_type = Id)]
    id: String,
    kind: NotificationKind,
    /// `kept` if no mail server is configured.
    status: NotificationStatus,
    email: String,
    #[schema(required, value_type = Option<Id>)]
    account_id: Option<String>,
    #[schema(required, value_type = Option<Id>)]
    worker_id: Option<String>,
    subject: String,
    paragraphs: Vec<String>,
    /// Why it was refused.
    #[schema(required)]
    error: Option<String>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    sent_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl NotificationBody {
    fn example() -> Self {
        let (rejected, worker) = (examples::rejected().task, examples::worker());
        let NotificationText {
            subject,
            paragraphs,
            link,
            task,
        } = notification::rejected(&rejected, examples::REASON);
        Self::from(Notification {
            id: examples::notification_id(),
            occasion: "rejected".to_owned(),
            kind: NotificationKind::ProofRejected,
            to: Recipient::Worker(worker.id),
            email: worker.email,
            subject,
            paragraphs,
            link,
            task,
            unread: false,
            status: NotificationStatus::Sent,
            error: None,
            sent_at: Some(examples::REVIEWED),
            created_at: examples::REVIEWED,
        })
    }
}

impl From<Notification> for NotificationBody {
    fn from(notification: Notification) -> Self {
        let (account_id, worker_id) = match notification.to {
            Recipient::Account(account) => (Some(account.to_string()), None),
            Recipient::Worker(worker) => (None, Some(worker.to_string())),
        };
        Self {
            id: notification.id.to_string(),
            kind: notification.kind,
            status: notification.status,
            email: notification.email,
            account_id,
            worker_id,
            subject: notification.subject,
            paragraphs: notification.paragraphs,
            error: notification.error,
            sent_at: notification.sent_at,
            created_at: notification.created_at,
        }
    }
}

/// List notifications
///
/// E-mails to workers and developers of the last 90 days, newest first.
#[utoipa::path(
    get, path = "/v1/admin/notices", tag = "Admin", operation_id = "listNotifications",
    params(parameters::PageSize,
        ("cursor" = inline(Option<parameters::IdCursor>), Query, description = "`next_cursor` of the previous page")),
    responses((status = 200, description = "A page of notifications", body = NotificationPage),
        groups::Admin, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    query: NotificationsQuery,
) -> Result<JsonResponse, ApiError> {
    let NotificationsQuery { cursor, limit, .. } = query;
    let read = app
        .store
        .snapshot(move |tx| tx.notifications_before(cursor, limit + 1));
    let mut notifications = read.await?;
    let meta = CursorMeta::cut(&mut notifications, limit, |notification| {
        notification.id.to_string()
    });
    JsonResponse::ok(
        &meta.list(
            notifications
                .into_iter()
                .map(NotificationBody::from)
                .collect(),
        ),
    )
}
