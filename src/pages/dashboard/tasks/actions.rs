//! What is done with a task. Each form leads back to the task.

use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Map, Value, json};

use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::desk::Desk;
use crate::pages::kit::form::Form;
use crate::pages::kit::words::segment;

pub async fn advance(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let path = format!("/v1/test_helpers/tasks/{}/advance", segment(&id));
    done(
        &desk,
        &id,
        Ask::post(path, Value::Object(form.texts(&["to"]))),
        &form,
        "advanced",
    )
    .await
}

pub async fn cancel(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let path = format!("/v1/tasks/{}/cancel", segment(&id));
    done(
        &desk,
        &id,
        Ask::post(path, Value::Object(Map::new())),
        &form,
        "cancelled",
    )
    .await
}

pub async fn state_side(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let path = format!("/v1/tasks/{}/dispute/statement", segment(&id));
    let body = json!({"statement": form.get("statement")});
    done(&desk, &id, Ask::post(path, body), &form, "stated").await
}

async fn done(
    desk: &Desk,
    id: &str,
    ask: Ask,
    form: &Form,
    done: &str,
) -> Result<Response, Refused> {
    let _: Value = desk.ask(ask.once(form.key())).await?;
    let back = desk.path(&format!("/tasks/{}?done={done}", segment(id)));
    Ok(Redirect::to(&back).into_response())
}
