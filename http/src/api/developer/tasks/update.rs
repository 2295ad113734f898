//! PATCH /v1/tasks/{id}

use axum::extract::{Request, State};
use serde_json::json;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{errors, groups, parameters};
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::path::TaskPath;
use crate::api::response::json::JsonResponse;
use crate::domain::tasks::field;
use crate::domain::{TaskEdit, Timestamp};
use crate::usecases;
use crate::views::task::TaskBody;

/// Update a task
///
/// Only while it is `pending`. A key with a mandate changes only tasks that it created.
#[utoipa::path(
    patch, path = "/v1/tasks/{id}", tag = "Tasks", operation_id = "updateTask",
    params(("id" = inline(parameters::TaskId), Path, description = "Task ID")), request_body = UpdateTask,
    responses((status = 200, description = "The updated task", body = TaskBody),
        groups::Developer, groups::Body, errors::TaskNotFound, errors::InvalidTaskState)
)]
pub async fn update(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let UpdateTask(edit) = body::required_json(request, &app).await?;
    let (holder, id, clock) = (caller.holder, path.id()?, app.clock.clone());
    let windows = *app.scheduler.windows();
    let task = app
        .store
        .write(move |tx| usecases::update_task(tx, &holder, id, &edit, &windows, clock.now()))
        .await?;
    JsonResponse::ok(&TaskBody::of(&task)?)
}

/// New values for a pending task. What is left out stays.
pub struct UpdateTask(TaskEdit);

impl RequestBody for UpdateTask {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self(TaskEdit {
            title: fields.text_if_given("title", &field::TITLE),
            description: fields.text_if_given("description", &field::DESCRIPTION),
            instructions: fields
                .doc("Null clears them.")
                .nullable_text("instructions", &field::INSTRUCTIONS),
            deadline: fields
                .doc("Null clears it.")
                .nullable_text("deadline", &Timestamp::RULE),
        }))
    }
}

request_bodies! {
    /// New values for a pending task. What is left out stays.
    UpdateTask = json!({
        "title": "Photograph a storefront by daylight",
        "deadline": "2026-11-21T18:00:00Z",
    });
}
