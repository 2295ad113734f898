//! /v1/tasks/{id}/approval and /v1/approvals

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::request::path::TaskPath;
use crate::api::request::query::ApprovalsQuery;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::tasks::approval::{Approval, ApprovalStatus, path};
use crate::domain::{Environment, TaskId};
use crate::store::{StoreError, Tx};
use crate::usecases::{self, UseCaseError};
use crate::views::task::approval::ApprovalBody;
use crate::views::to_json;

type ApprovalPage = CursorList<ApprovalBody>;

/// Where a person decides.
pub fn url(app: &App, environment: Environment) -> String {
    format!("{}{}", app.files.public_url(), path(environment))
}

/// Get the approval of a task
///
/// A task that a limited key has created above its `approval_above_cents` has one.
#[utoipa::path(
    get, path = "/v1/tasks/{id}/approval", tag = "Tasks", operation_id = "getApproval",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "The approval", body = ApprovalBody),
        groups::Developer, errors::TaskNotFound, errors::ApprovalNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
) -> Result<JsonResponse, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let found = app.store.read(move |tx| {
        tx.task_of(owner, id)?.ok_or(UseCaseError::TaskNotFound)?;
        tx.approval(owner, id)?
            .ok_or(UseCaseError::ApprovalNotFound)
    });
    let url = url(&app, owner.environment);
    JsonResponse::ok(&ApprovalBody::of(&found.await?, &url))
}

/// List approvals
///
/// Newest first. `status=waiting` shows those that wait for a decision.
#[utoipa::path(
    get, path = "/v1/approvals", tag = "Tasks", operation_id = "listApprovals",
    params(
        ("status" = inline(Option<ApprovalStatus>), Query, description = "Only with this status"),
        parameters::PageSize,
        ("cursor" = inline(Option<parameters::IdCursor>), Query, description = "`next_cursor` of the previous page"),
    ),
    responses((status = 200, description = "A page of approvals", body = ApprovalPage),
        groups::Developer, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    query: ApprovalsQuery,
) -> Result<JsonResponse, ApiError> {
    let ApprovalsQuery {
        status,
        cursor,
        limit,
    } = query;
    let owner = caller.owner();
    let read = app
        .store
        .snapshot(move |tx| tx.approvals_before(owner, status, cursor, limit + 1));
    let mut found: Vec<Approval> = read.await?;
    let meta = CursorMeta::cut(&mut found, limit, |approval| approval.task.to_string());
    let url = url(&app, owner.environment);
    let data = found
        .iter()
        .map(|approval| ApprovalBody::of(approval, &url));
    JsonResponse::ok(&meta.list(data.collect()))
}

/// Approve a task
///
/// It is charged as it would have been when it was created. Only with a key without a mandate.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/approval/approve", tag = "Tasks", operation_id = "approveTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is approved", body = ApprovalBody),
        groups::Developer, groups::Body, groups::Idempotency, errors::EmailNotConfirmed,
        errors::TaskNotFound, errors::ApprovalNotFound, errors::ApprovalDecided)
)]
pub async fn approve(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    usecases::expect_confirmed(&caller.holder)?;
    let (owner, by, holder) = (caller.owner(), caller.by(), caller.holder);
    let processor = app.payments.processor.name();
    let decide = move |tx: &mut Tx<'_>, id, now| {
        usecases::approve_task(tx, owner, id, (&by, processor), holder.time(now))
    };
    decided(&app, &caller, path.id(), post, decide).await
}

/// Refuse a task
///
/// It is cancelled. Only with a key without a mandate.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/approval/refuse", tag = "Tasks", operation_id = "refuseTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader),
    responses((status = 200, description = "The task is cancelled", body = ApprovalBody),
        groups::Developer, groups::Body, groups::Idempotency, errors::TaskNotFound,
        errors::ApprovalNotFound, errors::ApprovalDecided)
)]
pub async fn refuse(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let (owner, by, holder) = (caller.owner(), caller.by(), caller.holder);
    let decide =
        move |tx: &mut Tx<'_>, id, now| usecases::refuse_task(tx, owner, id, &by, holder.time(now));
    decided(&app, &caller, path.id(), post, decide).await
}

async fn decided<D>(
    app: &App,
    caller: &Caller,
    id: Result<TaskId, UseCaseError>,
    post: Post,
    decide: D,
) -> Result<JsonResponse, ApiError>
where
    D: Fn(&mut Tx<'_>, TaskId, crate::domain::Timestamp) -> Result<Approval, UseCaseError>
        + Send
        + 'static,
{
    post.expect_no_fields()?;
    let (id, url) = (id?, url(app, caller.owner().environment));
    let render = |(approval, url): &(Approval, String)| -> Result<String, StoreError> {
        to_json(&ApprovalBody::of(approval, url))
    };
    Idempotent::new(app, caller.requester(), post)
        .of_account(caller.owner().account)
        .run(
            move |tx, now| Ok((decide(tx, id, now)?, url.clone())),
            render,
        )
        .await
}
