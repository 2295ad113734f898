//! /v1/admin/audit: the audit log.

use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::admin::query::AuditQuery;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{groups, parameters};
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::{Actor, AuditEntry, AuditLine, Timestamp};
use crate::store::{NotedLine, StoreError};
use crate::views::actor::ActorBody;
use crate::views::examples;

type AuditLinePage = CursorList<AuditLineBody<'static>>;

/// One line of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditLine, example = json!(AuditLineBody::example()))]
struct AuditLineBody<'a> {
    number: i64,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    by: ActorBody,
    /// Such as `worker.verified`.
    action: &'a str,
    /// The kind of object, such as `worker`.
    subject: &'a str,
    subject_id: &'a str,
    #[schema(value_type = Object)]
    details: &'a RawValue,
    /// What the admin wrote. The hash does not cover it, and it is deleted with the person's data.
    #[schema(required)]
    note: Option<&'a str>,
    /// HMAC-SHA-256 over the previous line and this one. Lines from before the chain was keyed have a
    /// SHA-256 instead.
    hash: &'a str,
}

impl<'a> AuditLineBody<'a> {
    fn of(noted: &'a NotedLine) -> Result<Self, StoreError> {
        let line = &noted.line;
        let details = serde_json::from_str(&line.entry.details)
            .map_err(|e| StoreError::Failed(format!("details of line {}: {e}", line.number)))?;
        Ok(Self {
            number: line.number,
            at: line.entry.at,
            by: line.entry.by.clone().into(),
            action: &line.entry.action,
            subject: &line.entry.subject,
            subject_id: &line.entry.subject_id,
            details,
            note: noted.note.as_deref(),
            hash: &line.hash,
        })
    }

    fn example() -> Value {
        let line = AuditLine {
            number: 4_711,
            entry: AuditEntry {
                at: examples::REVIEWED,
                by: Actor::admin(examples::admin_key_id()),
                action: "dispute.decided".to_owned(),
                subject: "task".to_owned(),
                subject_id: examples::task_id().to_string(),
                details: json!({"decision": "pay"}).to_string(),
            },
            hash: examples::sha256(),
        };
        let note = Some("The opening hours can be read.".to_owned());
        examples::json(AuditLineBody::of(&NotedLine { line, note }))
    }
}

/// List the audit log
///
/// Newest first. Lines are never changed or removed.
#[utoipa::path(
    get, path = "/v1/admin/audit", tag = "Admin", operation_id = "listAuditLog",
    params(("subject_id" = inline(Option<parameters::SubjectId>), Query, description = "Only what was done to this object"),
        ("action" = inline(Option<parameters::AuditAction>), Query, description = "Only this action, such as `worker.verified`"),
        parameters::PageSize,
        ("cursor" = inline(Option<parameters::NumberCursor>), Query, description = "`next_cursor` of the previous page")),
    responses((status = 200, description = "A page of the log", body = AuditLinePage),
        groups::Admin, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    _: AdminCaller,
    query: AuditQuery,
) -> Result<JsonResponse, ApiError> {
    let AuditQuery {
        filter,
        cursor,
        limit,
    } = query;
    let read = app
        .store
        .snapshot(move |tx| tx.audit_lines_before(&filter, cursor, limit + 1));
    let mut lines = read.await?;
    let meta = CursorMeta::cut(&mut lines, limit, |noted| noted.line.number.to_string());
    let data = lines.iter().map(AuditLineBody::of);
    let data = data.collect::<Result<_, StoreError>>()?;
    JsonResponse::ok(&meta.list(data))
}
