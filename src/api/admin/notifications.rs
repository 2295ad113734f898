//! /v1/admin/notices: what workers and developers were told.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::admin::query::NotificationsQuery;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{PageLimit, errors};
use crate::api::response::json::Answer;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::{Notification, NotificationKind, NotificationStatus, Recipient, Timestamp};
use crate::views::examples::AdminExample;

type NotificationPage = CursorList<NotificationBody>;

/// Something that somebody was told by e-mail, or would have been.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(AdminExample::Notification.value()))]
pub struct NotificationBody {
    id: String,
    kind: NotificationKind,
    /// `kept` where no mail server is set.
    status: NotificationStatus,
    email: String,
    #[schema(required)]
    account_id: Option<String>,
    #[schema(required)]
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

impl From<Notification> for NotificationBody {
    fn from(notice: Notification) -> Self {
        let (account_id, worker_id) = match notice.to {
            Recipient::Account(account) => (Some(account.to_string()), None),
            Recipient::Worker(worker) => (None, Some(worker.to_string())),
        };
        Self {
            id: notice.id.to_string(),
            kind: notice.kind,
            status: notice.status,
            email: notice.email,
            account_id,
            worker_id,
            subject: notice.subject,
            paragraphs: notice.paragraphs,
            error: notice.error,
            sent_at: notice.sent_at,
            created_at: notice.created_at,
        }
    }
}

/// List notices
///
/// To workers and developers, newest first, those of the last 90 days.
#[utoipa::path(
    get, path = "/v1/admin/notices", tag = "Admin", operation_id = "listNotices",
    params(("limit" = inline(Option<PageLimit>), Query, description = "Page size, 20 when left out"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, description = "A page of notices", body = NotificationPage),
        errors::Admin, errors::Query)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    query: NotificationsQuery,
) -> Result<Answer, ApiError> {
    let NotificationsQuery { cursor, limit, .. } = query;
    let read = app
        .store
        .snapshot(move |tx| tx.notifications_before(cursor, limit + 1));
    let mut notices = read.await?;
    let meta = CursorMeta::cut(&mut notices, limit, |notice| notice.id.to_string());
    Answer::ok(&meta.list(notices.into_iter().map(NotificationBody::from).collect()))
}
