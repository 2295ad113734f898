//! /v1/admin: those who run the marketplace.

pub mod accounts;
pub mod audit;
pub mod disputes;
pub mod jobs;
pub mod notifications;
pub mod payouts;
mod query;
pub mod report;
pub mod review_queue;
pub mod tasks;
pub mod workers;

use axum::extract::Request;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::body;
use crate::api::request::fields::Fields;
use crate::domain::admin;

/// For requests that take no body: nothing, or an object without fields.
async fn expect_no_fields(app: &App, request: Request) -> Result<(), ApiError> {
    let object = body::object(request, app.timeouts).await?;
    Fields::of(&object).finish()
}

async fn read_note(app: &App, request: Request) -> Result<Option<String>, ApiError> {
    let object = body::object(request, app.timeouts).await?;
    let mut fields = Fields::of(&object);
    let note = fields.optional_text("note", admin::note);
    fields.finish()?;
    Ok(note)
}
