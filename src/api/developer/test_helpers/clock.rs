//! /v1/test_helpers/clock: the clock of a test environment.

use std::time::Duration;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::developer::test_helpers::only_in_test;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{IdempotencyKeyHeader, errors};
use crate::api::request::fields::Fields;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::Answer;
use crate::domain::{AccountId, Timestamp};
use crate::store::{StoreError, Tx};
use crate::usecases;
use crate::views::to_json;

/// Ten years.
const MAX_ADVANCE_SECONDS: i64 = 10 * 366 * 24 * 60 * 60;

/// One of the two: by how much, or to which moment.
#[derive(ToSchema)]
#[schema(example = json!({"advance_seconds": 86400}))]
#[allow(dead_code, reason = "documents the body that `advance` reads")]
pub struct AdvanceClock {
    #[schema(minimum = 1, maximum = 316224000)]
    advance_seconds: Option<i64>,
    /// Not in the past of the test environment.
    #[schema(format = DateTime)]
    at: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!({"now": "2026-11-16T09:30:00.000Z", "ahead_seconds": 86400}))]
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
}

/// Get the test clock
#[utoipa::path(
    get, path = "/v1/test_helpers/clock", tag = "Test helpers", operation_id = "getTestClock",
    responses((status = 200, description = "The clock", body = TestClock),
        errors::Common, errors::TestModeOnly)
)]
pub async fn get(State(app): State<App>, caller: Caller) -> Result<Answer, ApiError> {
    let owner = only_in_test(&caller)?;
    Answer::ok(&TestClock::read(&app, owner.account).await?)
}

/// Wind the test clock
///
/// Forward only. Everything that time alone brings about happens in the account's test environment as
/// it would in live: tasks expire, are given back or approved, disputes close, webhooks are tried
/// again. It has happened when the answer comes.
#[utoipa::path(
    post, path = "/v1/test_helpers/clock", tag = "Test helpers", operation_id = "windTestClock",
    params(IdempotencyKeyHeader), request_body = AdvanceClock,
    responses((status = 200, description = "The clock", body = TestClock),
        errors::Common, errors::Body, errors::Idempotency, errors::TestModeOnly)
)]
pub async fn advance(
    State(app): State<App>,
    caller: Caller,
    post: Post,
) -> Result<Answer, ApiError> {
    let account = only_in_test(&caller)?.account;
    let now = app.clock.now();
    let ahead = given_moment(&post, caller.holder.time(now))?.since(now);
    let wind = async {
        app.scheduler.advance(account, ahead).await?;
        Ok(TestClock::read(&app, account).await?)
    };
    let tell = |_: &mut Tx<'_>, _, clock: &TestClock| {
        Ok(TestClock {
            now: clock.now,
            ahead_seconds: clock.ahead_seconds,
        })
    };
    let json = TestClock::json;
    Idempotent::new(&app, caller.requester(), post)
        .prepare(wind)
        .run(tell, json)
        .await
}

/// The moment to go to: one of two fields says it.
fn given_moment(post: &Post, now: Timestamp) -> Result<Timestamp, ApiError> {
    let mut fields = Fields::of(&post.body);
    let by = fields.optional_integer("advance_seconds", seconds);
    let at = fields.optional_text("at", Timestamp::rule);
    fields.finish()?;
    let last = now.plus(Duration::from_secs(MAX_ADVANCE_SECONDS as u64));
    let fault = match (by, at) {
        (Some(by), None) => return Ok(now.plus(by)),
        (None, Some(at)) if (now..=last).contains(&at) => return Ok(at),
        (None, Some(at)) if at < now => "must not be in the past: the clock goes forward only",
        (None, Some(_)) => "must be within ten years",
        (Some(_), Some(_)) => "must not be given together with advance_seconds",
        (None, None) => return Err(ApiError::invalid("advance_seconds", "is required, or at")),
    };
    Err(ApiError::invalid("at", fault))
}

fn seconds(seconds: i64) -> Result<Duration, String> {
    match u64::try_from(seconds) {
        Ok(whole @ 1..) if seconds <= MAX_ADVANCE_SECONDS => Ok(Duration::from_secs(whole)),
        _ => Err(format!("must be between 1 and {MAX_ADVANCE_SECONDS}")),
    }
}

/// Set the test clock back to real time
///
/// Only when no task of the test environment is open.
#[utoipa::path(
    delete, path = "/v1/test_helpers/clock", tag = "Test helpers",
    operation_id = "resetTestClock",
    responses((status = 200, description = "The clock", body = TestClock),
        errors::Common, errors::TestModeOnly, errors::TasksOpen)
)]
pub async fn reset(State(app): State<App>, caller: Caller) -> Result<Answer, ApiError> {
    let account = only_in_test(&caller)?.account;
    app.store
        .write(move |tx| usecases::reset_test_clock(tx, account))
        .await?;
    Answer::ok(&TestClock::read(&app, account).await?)
}
