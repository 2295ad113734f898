//! Payout account and earnings of a worker.

use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::processor::with_timeout;
use crate::api::request::idempotency::Post;
use crate::api::request::query::Parameters;
use crate::api::response::json::JsonResponse;
use crate::api::response::workers::payout_status;
use crate::domain::admin::report::Month;
use crate::domain::{Environment, HeldBecause, PayoutStatus, Timestamp};
use crate::store::{Payout, PayoutParts, PayoutState, StoreError};
use crate::usecases;
use crate::views::{Id, examples};

#[derive(Serialize, ToSchema)]
#[schema(example = json!(Onboarding::example()))]
pub struct Onboarding {
    status: PayoutStatus,
    /// Where the worker completes the account with the payment processor.
    url: String,
}

impl Onboarding {
    fn example() -> Self {
        Self {
            status: PayoutStatus::Pending,
            url: "http://127.0.0.1:8080/onboarding/acct_019a85a1_secret_5f60718".to_owned(),
        }
    }
}

/// Start payout onboarding
///
/// Returns the payment processor's page on which you complete your payout account. Needs a sign-in of the
/// last 10 minutes.
#[utoipa::path(
    post, path = "/v1/worker/payout_account", tag = "Workers", operation_id = "openPayoutAccount",
    responses((status = 201, description = "Where to complete the account", body = Onboarding),
        groups::Worker, groups::Body, errors::PaymentUnavailable, errors::SignInAgain)
)]
pub async fn open_payout_account(
    State(app): State<App>,
    caller: WorkerCaller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    usecases::check_recent_sign_in(caller.session.signed_in_at, app.clock.now())?;
    let processor = app.payments.processor.clone();
    let (worker, name) = (caller.worker.id, processor.name());
    let known = app
        .store
        .read(move |tx| tx.payout_account(worker, name))
        .await?;
    let id = match known {
        Some(account) => account.id,
        None => with_timeout(&app, processor.open_payout_account(worker)).await?,
    };
    let (opened, clock) = (id.clone(), app.clock.clone());
    app.store
        .write(move |tx| usecases::payout_account_opened(tx, worker, name, &opened, clock.now()))
        .await?;
    let url = with_timeout(&app, processor.onboarding_url(&id)).await?;
    let status = payout_status(&app, worker).await?;
    JsonResponse::new(StatusCode::CREATED, &Onboarding { status, url })
}

/// What a worker has earned.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(Earnings::example()))]
pub struct Earnings {
    /// Earned and not transferred yet.
    balance_cents: i64,
    /// Transferred.
    paid_cents: i64,
    /// The latest 100, or those of a month, newest first.
    payouts: Vec<PayoutBody>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Payout)]
struct PayoutBody {
    #[schema(value_type = Id)]
    task_id: String,
    title: String,
    /// What was earned: the sum of the three below.
    amount_cents: i64,
    /// What has been transferred of it, and has not come back.
    paid_cents: i64,
    /// What is still on your balance of it.
    pending_cents: i64,
    /// What never will be transferred of it.
    written_off_cents: i64,
    /// As long as a part of it is still to be transferred: `pending`, `held` while it is held back, or `failed` if it
    /// was tried in vain or came back, and an admin decides. Then `written_off` if a part of it never will be, `paid`
    /// otherwise.
    status: &'static str,
    /// Why it is held back.
    #[schema(required)]
    held_reason: Option<HeldBecause>,
    /// When it is transferred, if only the hold period holds it back.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    available_at: Option<Timestamp>,
    /// When it was transferred to your payout account; null before.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    paid_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<Payout> for PayoutBody {
    fn from(payout: Payout) -> Self {
        let (held_reason, available_at) = match payout.state {
            PayoutState::Held { because, until } => (Some(because), until),
            _ => (None, None),
        };
        Self {
            task_id: payout.task.to_string(),
            title: payout.title.unwrap_or_default(),
            amount_cents: payout.cents,
            paid_cents: payout.parts.paid_cents,
            pending_cents: payout.parts.pending_cents,
            written_off_cents: payout.parts.written_off_cents,
            status: match payout.state {
                PayoutState::Pending => "pending",
                PayoutState::Held { .. } => "held",
                PayoutState::Failed => "failed",
                PayoutState::Paid => "paid",
                PayoutState::WrittenOff => "written_off",
            },
            held_reason,
            available_at,
            paid_at: payout.sent_at.filter(|_| payout.state == PayoutState::Paid),
            created_at: payout.at,
        }
    }
}

impl Earnings {
    fn example() -> Self {
        let (story, ledger) = (examples::completed(), examples::completed().ledger());
        let payout = Payout {
            task: story.task.id,
            title: Some(story.task.title.clone()),
            sent_at: Some(story.task.updated_at),
            cents: ledger.earned_cents(),
            parts: PayoutParts::of(
                ledger.earned_cents(),
                ledger.transferred_cents(),
                ledger.written_off_cents(),
            ),
            at: story.task.updated_at,
            state: PayoutState::Paid,
        };
        Self {
            balance_cents: ledger.owed_payout_cents(),
            paid_cents: ledger.transferred_cents(),
            payouts: vec![payout.into()],
        }
    }
}

/// Which payouts.
pub struct EarningsQuery {
    month: Option<Month>,
}

impl<S: Send + Sync> FromRequestParts<S> for EarningsQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut parameters = Parameters::of(parts.uri.query().unwrap_or_default());
        let month = parameters.optional("month", Month::rule);
        parameters.finish().map_err(ApiError::Validation)?;
        Ok(Self { month })
    }
}

/// Get your earnings
///
/// With `month`, the payouts are those of that month, in UTC, by when they were earned: the latest 1,000.
#[utoipa::path(
    get, path = "/v1/worker/earnings", tag = "Workers", operation_id = "getEarnings",
    params(("month" = inline(Option<parameters::Month>), Query, description = "Such as `2026-11`")),
    responses((status = 200, description = "The earnings", body = Earnings), groups::Worker,
        groups::Query)
)]
pub async fn earnings(
    State(app): State<App>,
    caller: WorkerCaller,
    query: EarningsQuery,
) -> Result<JsonResponse, ApiError> {
    const LATEST: i64 = 100;
    const IN_A_MONTH: i64 = 1_000;
    let worker = caller.worker.id;
    let earnings = app
        .store
        .snapshot(move |tx| {
            let payouts = match query.month {
                Some(month) => {
                    tx.payouts_between(worker, (month.start(), month.end()), IN_A_MONTH)?
                }
                None => tx.payouts_of(worker, LATEST)?,
            };
            Ok::<_, StoreError>(Earnings {
                balance_cents: tx.worker_balance(worker, Environment::Live)?,
                paid_cents: tx.paid_to(worker)?,
                payouts: payouts.into_iter().map(PayoutBody::from).collect(),
            })
        })
        .await?;
    JsonResponse::ok(&earnings)
}
