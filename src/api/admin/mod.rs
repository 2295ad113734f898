//! /v1/admin: those who run the marketplace.

pub mod accounts;
pub mod audit;
pub mod disputes;
pub mod jobs;
pub mod notices;
pub mod payouts;
mod query;
pub mod queue;
pub mod report;
pub mod tasks;
pub mod workers;

use axum::extract::Request;

use super::error::ApiError;
use super::fields::Fields;
use super::{App, body};

/// For requests that take no body: nothing, or an object without fields.
async fn expect_no_fields(app: &App, request: Request) -> Result<(), ApiError> {
    let object = body::object(request, app.timeouts).await?;
    Fields::of(&object).finish()
}
