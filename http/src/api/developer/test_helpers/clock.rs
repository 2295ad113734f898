//! /v1/test_helpers/clock: the clock of a test environment.

use std::time::Duration;

use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::developer::test_helpers::only_in_test;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors, groups};
use crate::api::request::fields::{Alternative, Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::aim::Aim;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::domain::rules::IntegerRule;
use crate::domain::{AccountId, Timestamp};
use crate::store::{StoreError, Tx};
use crate::usecases;
use crate::views::{examples, to_json};

/// Ten years.
const MAX_ADVANCE_SECONDS: i64 = 10 * 366 * 24 * 60 * 60;

#[derive(Clone, Serialize, ToSchema)]
#[schema(example = json!(TestClock::example()))]
pub struct TestClock {
    /// What time it is in the account's test environment.
    #[schema(value_type = String, format = DateTime)]
    now: Timestamp,
    ahead_seconds: i64,
}

impl TestClock {
    fn of(ahead: Duration, now: Timestamp) -> Self {
        Self {
            now: now.plus(ahead),
            ahead_seconds: ahead.as_secs() as i64,
        }
    }

    async fn read(app: &App, account: AccountId) -> Result<Self, StoreError> {
        let ahead = app.store.read(move |tx| tx.test_clock(account)).await?;
        Ok(Self::of(ahead, app.clock.now()))
    }

    fn json(clock: &Self) -> Result<String, StoreError> {
        to_json(clock)
    }

    fn example() -> Self {
        Self::of(Duration::from_secs(86_400), examples::CREATED)
    }
}

/// Get the test clock
#[utoipa::path(
    get, path = "/v1/test_helpers/clock", tag = "Test helpers", operation_id = "getTestClock",
    responses((status = 200, description = "The clock", body = TestClock),
        groups::Developer, errors::TestModeOnly)
)]
pub async fn get(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    let owner = only_in_test(&caller)?;
    JsonResponse::ok(&TestClock::read(&app, owner.account).await?)
}

/// Advance the test clock
///
/// Moves the clock of the account's test environment forward. Everything that would happen in live
/// by then happens: tasks expire, are released or approved, disputes close, webhooks are retried.
/// All of it is done when the response arrives.
#[utoipa::path(
    post, path = "/v1/test_helpers/clock", tag = "Test helpers", operation_id = "advanceTestClock",
    params(IdempotencyKeyHeader), request_body = AdvanceClock,
    responses((status = 200, description = "The clock", body = TestClock),
        groups::Developer, groups::Body, groups::Idempotency, errors::TestModeOnly)
)]
pub async fn advance(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let account = only_in_test(&caller)?.account;
    let wanted = post.read::<AdvanceClock>()?;
    let aim = Aim::of(&post, caller.owner());
    let advance = async {
        let clock = app.scheduler.hold_clock(account).await?;
        clock
            .advance(wanted.ahead(&app, account, aim).await?)
            .await?;
        Ok(TestClock::read(&app, account).await?)
    };
    let tell = |_: &mut Tx<'_>, _, clock: &TestClock| Ok(clock.clone());
    let json = TestClock::json;
    Idempotent::new(&app, caller.requester(), post)
        .prepare(advance)
        .run(tell, json)
        .await
}

/// By how much to advance the clock, or to which moment.
pub enum AdvanceClock {
    By(Duration),
    To(Timestamp),
}

const ADVANCE_SECONDS: IntegerRule = IntegerRule {
    min: 1,
    max: MAX_ADVANCE_SECONDS,
};

impl RequestBody for AdvanceClock {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let by = fields.optional_integer("advance_seconds", &ADVANCE_SECONDS);
        let to = fields
            .doc("Not in the past of the test environment, and within ten years.")
            .optional_text("at", &Timestamp::RULE);
        match (by, to) {
            (Some(by), None) => Some(Self::By(Duration::from_secs(by.unsigned_abs()))),
            (None, Some(to)) => Some(Self::To(to)),
            (Some(_), Some(_)) => {
                fields.refuse("at", "must not be given together with advance_seconds");
                None
            }
            (None, None) => {
                fields.refuse_if_fine("advance_seconds", "is required, or at");
                None
            }
        }
    }

    fn alternatives() -> Vec<Alternative> {
        vec![
            |body| body.require("advance_seconds").only_null("at"),
            |body| body.require("at").only_null("advance_seconds"),
        ]
    }
}

request_bodies! {
    /// By how much to advance the clock, or to which moment: one of the two.
    AdvanceClock = json!({"advance_seconds": 86400});
}

impl AdvanceClock {
    /// How far ahead of real time the clock is to be. A repeat of a request that broke off aims at what the
    /// first attempt did.
    async fn ahead(
        self,
        app: &App,
        account: AccountId,
        aim: Option<Aim>,
    ) -> Result<Duration, ApiError> {
        let kept = match &aim {
            Some(aim) => aim.kept(app).await?,
            None => None,
        };
        if let Some(kept) = kept {
            return from_millis(&kept);
        }
        let ahead = app.store.read(move |tx| tx.test_clock(account)).await?;
        let now = app.clock.now();
        let ahead = self.moment(now.plus(ahead))?.since(now);
        match aim {
            Some(aim) => from_millis(&aim.keep(app, ahead.as_millis().to_string()).await?),
            None => Ok(ahead),
        }
    }

    fn moment(self, now: Timestamp) -> Result<Timestamp, ApiError> {
        let last = now.plus(Duration::from_secs(MAX_ADVANCE_SECONDS.unsigned_abs()));
        let error = match self {
            Self::By(by) => return Ok(now.plus(by)),
            Self::To(at) if (now..=last).contains(&at) => return Ok(at),
            Self::To(at) if at < now => "must not be in the past: the clock only goes forward",
            Self::To(_) => "must be within ten years",
        };
        Err(ApiError::invalid("at", error))
    }
}

fn from_millis(kept: &str) -> Result<Duration, ApiError> {
    let malformed = |_| StoreError::Failed("what a request aims at is malformed".into());
    Ok(Duration::from_millis(kept.parse().map_err(malformed)?))
}

/// Reset the test clock to real time
///
/// Only while the test environment has no open task.
#[utoipa::path(
    delete, path = "/v1/test_helpers/clock", tag = "Test helpers",
    operation_id = "resetTestClock",
    responses((status = 200, description = "The clock", body = TestClock),
        groups::Developer, errors::TestModeOnly, errors::TasksOpen)
)]
pub async fn reset(State(app): State<App>, caller: Caller) -> Result<JsonResponse, ApiError> {
    let account = only_in_test(&caller)?.account;
    let clock = app.clock.clone();
    // An advance that ends would set it again.
    let _held = app.scheduler.hold_clock(account).await?;
    app.store
        .write(move |tx| usecases::reset_test_clock(tx, account, clock.now()))
        .await?;
    JsonResponse::ok(&TestClock::read(&app, account).await?)
}
