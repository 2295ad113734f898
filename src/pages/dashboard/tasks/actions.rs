//! What is done with a task. Each form leads back to the task. One that came too late shows how the task stands.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use super::show::shown;
use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::desk::Desk;
use crate::pages::kit::form::Form;
use crate::pages::kit::words::segment;

const CHANGED: &str =
    "The task has changed meanwhile, so nothing was done. This is how it stands now.";

pub async fn advance(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let path = format!("/v1/test_helpers/tasks/{}/advance", segment(&id));
    let ask = Ask::post(path, Value::Object(form.texts(&["to"])));
    done(&desk, &id, ask, (form, "advanced")).await
}

pub async fn cancel(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let path = format!("/v1/tasks/{}/cancel", segment(&id));
    let expected = form.get("expected_refund_cents").parse::<i64>().ok();
    let ask = Ask::post(path, json!({"expected_refund_cents": expected}));
    done(&desk, &id, ask, (form, "cancelled")).await
}

pub async fn state_side(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let path = format!("/v1/tasks/{}/dispute/statement", segment(&id));
    let body = json!({"statement": form.get("statement")});
    done(&desk, &id, Ask::post(path, body), (form, "stated")).await
}

async fn done(
    desk: &Desk,
    id: &str,
    ask: Ask,
    (form, done): (Form, &str),
) -> Result<Response, Refused> {
    let refused = match desk.ask::<Value>(ask.once(form.key())).await {
        Ok(_) => {
            let back = desk.path(&format!("/tasks/{}?done={done}", segment(id)));
            return Ok(Redirect::to(&back).into_response());
        }
        Err(refused) => refused,
    };
    if !matches!(
        refused.status,
        StatusCode::CONFLICT | StatusCode::BAD_REQUEST
    ) {
        return Err(refused);
    }
    let mut form = form.refused(&refused, &["statement"]);
    if refused.is("INVALID_TASK_STATE") || refused.is("REFUND_DIFFERS") {
        form.problem = Some(CHANGED.to_owned());
    }
    shown(desk, id, (form, refused.status), "").await
}
