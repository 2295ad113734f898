//! /v1/admin/disputes: who is right.

use axum::extract::{Request, State};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::errors;
use crate::api::request::fields::Fields;
use crate::api::request::path::TaskPath;
use crate::api::request::{body, json};
use crate::api::response::json::Answer;
use crate::domain::tasks::dispute;
use crate::domain::{Action, Decision};
use crate::usecases::{self, UseCaseError};
use crate::views::examples::AdminExample;
use crate::views::task::TaskBody;

#[derive(ToSchema)]
#[schema(example = json!(AdminExample::Decide.value()))]
#[allow(dead_code, reason = "documents the body that `decision` reads")]
pub struct DecideDispute {
    decision: Decision,
    /// With `split` only: what is paid of the budget, the platform's fee included. The rest goes back.
    #[schema(minimum = 1)]
    paid_cents: Option<i64>,
    /// Why; both sides read it.
    #[schema(
        min_length = 1,
        max_length = 2000,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
    )]
    note: Option<String>,
}

/// Decide a dispute
///
/// For the worker, for the developer, or a part for each. Both sides read the note.
#[utoipa::path(
    post, path = "/v1/admin/disputes/{id}/decide", tag = "Admin", operation_id = "decideDispute",
    params(("id" = String, Path, description = "Task id")), request_body = DecideDispute,
    responses((status = 200, description = "The task", body = TaskBody),
        errors::Admin, errors::Body, errors::TaskNotFound, errors::UndecidableDispute)
)]
pub async fn decide(
    State(app): State<App>,
    admin: AdminCaller,
    path: TaskPath,
    request: Request,
) -> Result<Answer, ApiError> {
    let (action, note) = decision(&app, request).await?;
    let (id, by, clock) = (path.id()?, admin.by(), app.clock.clone());
    let decided = app.store.write(move |tx| {
        usecases::decide_dispute(tx, id, action, note.as_deref(), &by, clock.now())
    });
    let task = decided.await.map_err(|refusal| match refusal {
        UseCaseError::NoSplit { budget_cents } => ApiError::invalid(
            "paid_cents",
            &format!("must be less than the budget of {budget_cents}"),
        ),
        refusal => refusal.into(),
    })?;
    Answer::ok(&TaskBody::of(&task)?)
}

async fn decision(app: &App, request: Request) -> Result<(Action, Option<String>), ApiError> {
    let object = body::object(request, app.timeouts).await?;
    let mut fields = Fields::of(&object);
    let decision = fields.text("decision", Decision::rule);
    let paid_cents = match decision {
        Some(Decision::Split) => fields.integer("paid_cents", |cents| match cents {
            1.. => Ok(cents),
            _ => Err("must be at least 1".to_owned()),
        }),
        _ => fields.optional_integer("paid_cents", Ok),
    };
    if paid_cents.is_some() && matches!(decision, Some(Decision::Pay | Decision::Refund)) {
        fields.refuse("paid_cents", "is for a split alone");
    }
    let note = fields.optional_text("note", dispute::note);
    fields.finish()?;
    let action = match (decision, paid_cents) {
        (Some(Decision::Pay), _) => Some(Action::DecidePay),
        (Some(Decision::Refund), _) => Some(Action::DecideRefund),
        (Some(Decision::Split), Some(paid_cents)) => Some(Action::DecideSplit { paid_cents }),
        _ => None,
    };
    let action = action.ok_or_else(|| ApiError::invalid(json::BODY, "is incomplete"))?;
    Ok((action, note))
}
