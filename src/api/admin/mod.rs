//! /v1/admin: what admins call with an admin key.

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
use serde_json::json;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::body;
use crate::api::request::fields::{Fields, NoFields, RequestBody, request_bodies};
use crate::domain::admin;

/// For requests that take no body: nothing, or an object without fields.
async fn expect_no_fields(app: &App, request: Request) -> Result<(), ApiError> {
    let NoFields = body::json(request, app.timeouts).await?;
    Ok(())
}

/// An optional note.
pub struct ItemNote {
    note: Option<String>,
}

impl RequestBody for ItemNote {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let note = fields.optional_text("note", &admin::NOTE);
        Some(Self { note })
    }
}

request_bodies! {
    ItemNote = json!({"note": "Known place without GPS reception."});
}
