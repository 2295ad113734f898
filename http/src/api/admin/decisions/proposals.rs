//! Decisions that wait for a second admin.

use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::body;
use crate::api::request::fields::NoFields;
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::domain::{Proposal, ProposalKind, Task, Timestamp};
use crate::store::StoreError;
use crate::usecases::{self, Looker, Outcome};
use crate::views::task::TaskBody;
use crate::views::{Id, examples, to_json};

/// A decision that waits for a second admin.
#[derive(Serialize, ToSchema)]
#[schema(as = Proposal, example = json!(ProposalBody::example()))]
pub struct ProposalBody {
    /// Always `proposed`.
    status: &'static str,
    kind: ProposalKind,
    #[schema(value_type = Id)]
    task_id: String,
    /// What is proposed, for example `{"decision": "split", "paid_cents": 1000}`.
    #[schema(value_type = Object)]
    proposal: Box<RawValue>,
    #[schema(required)]
    note: Option<String>,
    /// ID of the admin key. Another one confirms it by sending the same decision.
    #[schema(value_type = Id)]
    proposed_by: String,
    #[schema(value_type = String, format = DateTime)]
    proposed_at: Timestamp,
}

impl ProposalBody {
    pub fn of(proposal: &Proposal) -> Result<Self, StoreError> {
        let content = RawValue::from_string(proposal.content.clone());
        let unreadable = |e| StoreError::Failed(format!("proposal about {}: {e}", proposal.task));
        Ok(Self {
            status: "proposed",
            kind: proposal.kind,
            task_id: proposal.task.to_string(),
            proposal: content.map_err(unreadable)?,
            note: proposal.note.clone(),
            proposed_by: proposal.proposed_by.to_string(),
            proposed_at: proposal.proposed_at,
        })
    }

    fn example() -> Value {
        examples::json(Self::of(&Proposal {
            kind: ProposalKind::Dispute,
            task: examples::task_id(),
            content: json!({"decision": "pay"}).to_string(),
            note: Some("The opening hours can be read.".to_owned()),
            proposed_by: examples::admin_key_id(),
            proposed_at: examples::REVIEWED,
        }))
    }
}

/// The task if the decision was made, and the proposal if it waits.
pub fn answer(outcome: &Outcome<Task>) -> Result<JsonResponse, StoreError> {
    let (status, body) = match outcome {
        Outcome::Made(task) => (StatusCode::OK, TaskBody::json(task)?),
        Outcome::Proposed(proposal) => {
            let body = to_json(&ProposalBody::of(proposal)?)?;
            (StatusCode::ACCEPTED, body)
        }
    };
    Ok(JsonResponse {
        status,
        body,
        replayed: false,
    })
}

async fn withdraw(
    app: &App,
    by: Looker,
    path: &TaskPath,
    kind: ProposalKind,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let NoFields = body::json(request, app).await?;
    let (id, clock) = (path.id()?, app.clock.clone());
    let withdraw = app
        .store
        .write(move |tx| usecases::withdraw_proposal(tx, kind, id, by, clock.now()));
    JsonResponse::ok(&ProposalBody::of(&withdraw.await?)?)
}

/// Withdraw a proposed decision of a dispute
///
/// If you have proposed it, or as an owner.
#[utoipa::path(
    delete, path = "/v1/admin/disputes/{id}/proposal", tag = "Admin",
    operation_id = "withdrawDecision",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "What was proposed", body = ProposalBody),
        groups::Admin, groups::Body, errors::TaskNotFound, errors::ProposalNotFound)
)]
pub async fn of_dispute(
    State(app): State<App>,
    by: Looker,
    path: TaskPath,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    withdraw(&app, by, &path, ProposalKind::Dispute, request).await
}

/// Withdraw a proposed write-off
#[utoipa::path(
    delete, path = "/v1/admin/payouts/{id}/proposal", tag = "Admin",
    operation_id = "withdrawWriteOff",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "What was proposed", body = ProposalBody),
        groups::Admin, groups::Body, errors::TaskNotFound, errors::ProposalNotFound)
)]
pub async fn of_write_off(
    State(app): State<App>,
    by: Looker,
    path: TaskPath,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    withdraw(&app, by, &path, ProposalKind::WriteOff, request).await
}

/// Withdraw a proposed settlement of a refund
#[utoipa::path(
    delete, path = "/v1/admin/refunds/{id}/proposal", tag = "Admin",
    operation_id = "withdrawSettlement",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")),
    responses((status = 200, description = "What was proposed", body = ProposalBody),
        groups::Admin, groups::Body, errors::TaskNotFound, errors::ProposalNotFound)
)]
pub async fn of_settlement(
    State(app): State<App>,
    by: Looker,
    path: TaskPath,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    withdraw(&app, by, &path, ProposalKind::SettleRefund, request).await
}
