//! PATCH /v1/tasks/{id}

use axum::body::Bytes;
use axum::extract::{Request, State};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::errors;
use crate::api::request::fields::Fields;
use crate::api::request::path::TaskPath;
use crate::api::request::{body, json};
use crate::api::response::json::Answer;
use crate::domain::tasks::field;
use crate::domain::{TaskEdit, Timestamp};
use crate::usecases;
use crate::views::examples::Example;
use crate::views::task::TaskBody;

/// Update a task
///
/// Only while it is pending.
#[utoipa::path(
    patch, path = "/v1/tasks/{id}", tag = "Tasks", operation_id = "updateTask",
    params(("id" = String, Path, description = "Task id")), request_body = UpdateTask,
    responses((status = 200, description = "The updated task", body = TaskBody),
        errors::Common, errors::Body, errors::TaskNotFound, errors::InvalidTaskState)
)]
pub async fn update(
    State(app): State<App>,
    caller: Caller,
    path: TaskPath,
    request: Request,
) -> Result<Answer, ApiError> {
    let edit = task_edit(&body::read(request.into_body(), app.timeouts).await?)?;
    let (holder, id, clock) = (caller.holder, path.id()?, app.clock.clone());
    let task = app
        .store
        .write(move |tx| usecases::update_task(tx, &holder, id, &edit, clock.now()))
        .await?;
    Answer::ok(&TaskBody::of(&task)?)
}

/// New words for a pending task; what is left out stays.
#[derive(ToSchema)]
#[schema(example = json!(Example::UpdateTask.value()))]
#[allow(dead_code, reason = "documents the body that `task_edit` reads")]
pub struct UpdateTask {
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$",
        nullable = false
    )]
    title: Option<String>,
    #[schema(
        min_length = 1,
        max_length = 2000,
        pattern = r"^[^\u0000]*[^\s\u0000][^\u0000]*$",
        nullable = false
    )]
    description: Option<String>,
    /// Null clears it.
    #[schema(max_length = 5000, pattern = r"^[^\u0000]*$")]
    instructions: Option<String>,
    /// Null clears it.
    #[schema(format = DateTime)]
    deadline: Option<String>,
}

pub fn task_edit(bytes: &Bytes) -> Result<TaskEdit, ApiError> {
    if bytes.is_empty() {
        return Err(ApiError::invalid(json::BODY, "is required"));
    }
    let object = json::object(bytes).map_err(ApiError::Validation)?;
    let mut fields = Fields::of(&object);
    let edit = TaskEdit {
        title: fields.text_if_given("title", field::title),
        description: fields.text_if_given("description", field::description),
        instructions: fields.nullable_text("instructions", field::instructions),
        deadline: fields.nullable_text("deadline", Timestamp::rule),
    };
    fields.finish()?;
    Ok(edit)
}
