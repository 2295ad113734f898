//! /v1/admin/disputes: decide disputes.

use axum::extract::State;
use serde_json::json;

use crate::api::App;
use crate::api::admin::AdminPost;
use crate::api::admin::decisions::proposals::{self, ProposalBody};
use crate::api::error::ApiError;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups, parameters};
use crate::api::request::fields::{Alternative, Fields, RequestBody, request_bodies};
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::domain::rules::IntegerRule;
use crate::domain::tasks::dispute;
use crate::domain::tasks::pricing::MAX_BUDGET_CENTS;
use crate::domain::{Action, Decision};
use crate::store::Tx;
use crate::usecases::{self, UseCaseError};
use crate::views::task::TaskBody;

/// Decide a dispute
///
/// Pays the worker, refunds the developer, or splits the budget. Both sides read the note. Above a limit of
/// the operator, the decision is proposed, and another admin confirms it by sending the same.
#[utoipa::path(
    post, path = "/v1/admin/disputes/{id}/decide", tag = "Admin", operation_id = "decideDispute",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID"), IdempotencyKeyHeader), request_body = DecideDispute,
    responses((status = 200, description = "The task", body = TaskBody),
        (status = 202, description = "It waits for a second admin", body = ProposalBody),
        groups::Admin, groups::Body, groups::Idempotency, errors::TaskNotFound, errors::InvalidTaskState, errors::ItemClaimed,
        errors::ProposalPending)
)]
pub async fn decide(
    State(app): State<App>,
    path: TaskPath,
    post: AdminPost,
) -> Result<JsonResponse, ApiError> {
    let (DecideDispute { action, note }, by) = (post.read()?, post.by());
    let (id, four_eyes) = (path.id()?, app.four_eyes);
    let work = move |tx: &mut Tx<'_>, now| {
        let decision = (action, note.as_deref());
        usecases::decide_dispute(tx, id, decision, (&by, four_eyes), now)
    };
    let decided = post.once(&app).run_with_status(work, proposals::answer);
    decided.await.map_err(|error| match error {
        ApiError::UseCase(UseCaseError::NoSplit { budget_cents }) => ApiError::invalid(
            "paid_cents",
            &format!("must be less than the budget of {budget_cents}"),
        ),
        error => error,
    })
}

pub struct DecideDispute {
    action: Action,
    note: Option<String>,
}

/// The upper bound is the budget of the task, which is not known here.
const PAID_CENTS: IntegerRule = IntegerRule {
    min: 1,
    max: MAX_BUDGET_CENTS,
};

impl RequestBody for DecideDispute {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let decision = fields.choice("decision");
        let paid_cents = fields
            .doc("With `split` only: what is paid of the budget, the fee included. The rest is refunded.")
            .optional_integer("paid_cents", &PAID_CENTS);
        let note = fields
            .doc("Why. Both sides read it.")
            .optional_text("note", &dispute::NOTE);
        let action = match (decision?, paid_cents) {
            (Decision::Pay, None) => Action::DecidePay,
            (Decision::Refund, None) => Action::DecideRefund,
            (Decision::Split, Some(paid_cents)) => Action::DecideSplit { paid_cents },
            (Decision::Split, None) => {
                fields.refuse_if_fine("paid_cents", "is required");
                return None;
            }
            (_, Some(_)) => {
                fields.refuse("paid_cents", "is for a split alone");
                return None;
            }
        };
        Some(Self { action, note })
    }

    fn alternatives() -> Vec<Alternative> {
        vec![
            |body| {
                body.only("decision", &["pay", "refund"])
                    .only_null("paid_cents")
            },
            |body| body.only("decision", &["split"]).require("paid_cents"),
        ]
    }
}

request_bodies! {
    DecideDispute = json!({
        "decision": "split", "paid_cents": 1000,
        "note": "The opening hours can be read when the photo is enlarged.",
    });
}
