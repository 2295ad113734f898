//! /v1/tasks/{id}/history: every move of a task, who made it, and why.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::answer::Answer;
use super::authentication::Caller;
use super::error::ApiError;
use super::openapi::{PageLimit, PageOffset, errors};
use super::path::TaskPath;
use super::query::{Meta, PageQuery};
use crate::domain::{MadeMove, Maker, Status, Timestamp};
use crate::objects::proof::{LATER, WORKER_ID};
use crate::usecases::Refusal;

/// One move.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"from": "posted", "to": "assigned", "by": {"type": "worker",
    "id": WORKER_ID}, "reason": null, "created_at": LATER}))]
pub struct MoveBody {
    /// Null for its creation.
    #[schema(required)]
    from: Option<Status>,
    to: Status,
    by: MakerBody,
    #[schema(required)]
    reason: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
struct MakerBody {
    #[serde(rename = "type")]
    maker: Maker,
    /// Of the key, the worker or the admin's key.
    #[schema(required)]
    id: Option<String>,
}

impl From<MadeMove> for MoveBody {
    fn from(made: MadeMove) -> Self {
        Self {
            from: made.from,
            to: made.to,
            by: MakerBody {
                maker: made.by.maker,
                id: made.by.id,
            },
            reason: made.reason,
            created_at: made.made_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"data": [{"from": null, "to": "pending", "by": {"type": "developer",
    "id": "019a85702b4e7f02b1d3c5e7f9012345"}, "reason": null, "created_at": LATER}],
    "meta": {"total": 1, "limit": 20, "offset": 0}}))]
pub struct History {
    data: Vec<MoveBody>,
    meta: Meta,
}

/// Get the history of a task
///
/// Every move, oldest first: who made it, and why.
#[utoipa::path(
    get, path = "/v1/tasks/{id}/history", tag = "Tasks", operation_id = "getHistory",
    params(("id" = String, Path, description = "Task id"),
        ("limit" = inline(Option<PageLimit>), Query,
            description = "Page size, 20 when left out; more than 100 is served as 100"),
        ("offset" = inline(Option<PageOffset>), Query, description = "How many to skip")),
    responses((status = 200, description = "Its moves", body = History),
        errors::Common, errors::Query, errors::TaskNotFound)
)]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    PageQuery(page): PageQuery,
) -> Result<Answer, ApiError> {
    let (owner, id) = (caller.owner(), path.id()?);
    let (moves, total) = app
        .store
        .snapshot(move |tx| {
            tx.task_of(owner, id)?.ok_or(Refusal::TaskNotFound)?;
            Ok::<_, Refusal>(tx.history(id, page.limit, page.offset)?)
        })
        .await?;
    Answer::ok(&History {
        data: moves.into_iter().map(Into::into).collect(),
        meta: page.meta(total),
    })
}
