//! Copies of a person's data, as developers and workers ask for them.

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::idempotency::{Idempotent, Post, Requester};
use crate::api::response::exports::{ExportBody, exports_of};
use crate::api::response::json::JsonResponse;
use crate::domain::ExportId;
use crate::domain::people::Person;
use crate::usecases;

pub async fn request(
    app: &App,
    person: Person,
    requester: Requester,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let id = ExportId::new(app.clock.now(), &ambient::random());
    Idempotent::new(app, requester, post)
        .created()
        .run(
            move |tx, now| usecases::request_export(tx, id, person, now),
            ExportBody::json,
        )
        .await
}

pub async fn list(app: &App, person: Person) -> Result<JsonResponse, ApiError> {
    JsonResponse::ok(&exports_of(app, person).await?)
}
