//! /v1/admin: what admins call with an admin key.

pub mod access;
pub mod accounts;
pub mod decisions;
mod query;
pub mod review_queue;
pub mod service;
pub mod tasks;
pub mod workers;

use axum::RequestExt;
use axum::extract::{FromRequest, Request};
use serde_json::json;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::{AdminCaller, AdminRequester};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post, Requester};
use crate::domain::{Actor, AdminKeyId, admin};

/// A POST of an admin: its body and its Idempotency-Key.
pub struct AdminPost {
    admin: AdminKeyId,
    requester: Requester,
    post: Post,
}

impl FromRequest<App> for AdminPost {
    type Rejection = ApiError;

    async fn from_request(mut request: Request, app: &App) -> Result<Self, ApiError> {
        let AdminCaller(admin) = request.extract_parts_with_state(app).await?;
        let AdminRequester(requester) = request.extract_parts_with_state(app).await?;
        let post = Post::from_request(request, app).await?;
        Ok(Self {
            admin,
            requester,
            post,
        })
    }
}

impl AdminPost {
    pub fn read<B: RequestBody>(&self) -> Result<B, ApiError> {
        self.post.read()
    }

    /// For requests that take no body: nothing, or an object without fields.
    pub fn expect_no_fields(&self) -> Result<(), ApiError> {
        self.post.expect_no_fields()
    }

    pub fn by(&self) -> Actor {
        Actor::admin(self.admin)
    }

    /// What happens once for each Idempotency-Key.
    pub fn once(self, app: &App) -> Idempotent<'_> {
        Idempotent::new(app, self.requester, self.post)
    }
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
