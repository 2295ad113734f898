//! Start, give back, dispute. A task that has changed meanwhile is shown as it stands.

use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Map, Value};

use super::show::again;
use crate::api::inside::{Ask, Refused};
use crate::pages::kit::form::Form;
use crate::pages::worker::models::segment;
use crate::pages::worker::visit::Visit;

pub async fn start(visit: Visit, Path(id): Path<String>, form: Form) -> Result<Response, Refused> {
    make(&visit, &id, "start", form, Map::new()).await
}

pub async fn release(
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Refused> {
    make(&visit, &id, "release", form, Map::new()).await
}

pub async fn dispute(
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Refused> {
    let body = form.texts(&["statement"]);
    make(&visit, &id, "dispute", form, body).await
}

async fn make(
    visit: &Visit,
    id: &str,
    action: &str,
    form: Form,
    body: Map<String, Value>,
) -> Result<Response, Refused> {
    let path = segment(id);
    let target = format!("/v1/worker/tasks/{path}/{action}");
    let ask = Ask::post(target, Value::Object(body)).once(form.key());
    let refused = match visit.ask::<Value>(ask).await {
        Ok(_) => {
            let to = match action {
                "start" => format!("/worker/tasks/{path}?done=started"),
                "dispute" => format!("/worker/tasks/{path}?done=disputed"),
                _ => "/worker/tasks?done=released".to_owned(),
            };
            return Ok(Redirect::to(&to).into_response());
        }
        Err(refused) if refused.status.is_client_error() => refused,
        Err(refused) => return Err(refused),
    };
    let mut form = visit.refused(form, &refused, &["statement"]);
    if refused.is_overtaken() {
        form.problem = Some(visit.t.tasks.changed.to_owned());
    }
    again(visit, id, form, refused.status).await
}
