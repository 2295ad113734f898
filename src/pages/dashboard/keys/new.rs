//! A new key: one that may do everything, or one with a mandate.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::mandate::{self, Choices};
use super::shown;
use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "dashboard/keys/new.html")]
struct NewKey {
    shell: Shell,
    base: String,
    form: Form,
    choices: Choices,
    asks_password: bool,
}

#[derive(Deserialize)]
struct Made {
    key: String,
}

/// What most programs need: to read, and to create for a little.
pub async fn show(desk: Desk) -> Response {
    let mut form = Form::new();
    for permission in ["read", "create"] {
        form.add("permissions", permission.to_owned());
    }
    limited(&desk, form, StatusCode::OK)
}

fn limited(desk: &Desk, form: Form, status: StatusCode) -> Response {
    let template = NewKey {
        shell: desk.shell("New limited key", Place::Keys),
        base: desk.path("/keys"),
        form,
        choices: Choices::new(),
        asks_password: desk.asks_password(),
    };
    page(status, &template)
}

/// A key that may do everything.
pub async fn create(desk: Desk, mut form: Form) -> Result<Response, Refused> {
    if let Some(status) = desk.confirm_password(&mut form).await? {
        return shown(&desk, form, status, None, None).await;
    }
    match make(&desk, &form, None).await {
        Ok(made) => shown(&desk, Form::new(), StatusCode::OK, Some(made.key), None).await,
        Err(refused) if refused.status.is_client_error() => {
            let (status, form) = (refused.status, form.refused(&refused, &["name"]));
            shown(&desk, form, status, None, None).await
        }
        Err(refused) => Err(refused),
    }
}

/// A key that is limited from the first moment.
pub async fn create_limited(desk: Desk, mut form: Form) -> Result<Response, Refused> {
    if let Some(status) = desk.confirm_password(&mut form).await? {
        return Ok(limited(&desk, form, status));
    }
    match make(&desk, &form, Some(mandate::body(&form))).await {
        Ok(made) => shown(&desk, Form::new(), StatusCode::OK, Some(made.key), None).await,
        Err(refused) if refused.status.is_client_error() => {
            let status = refused.status;
            Ok(limited(&desk, mandate::refused(form, &refused), status))
        }
        Err(refused) => Err(refused),
    }
}

async fn make(desk: &Desk, form: &Form, mandate: Option<Value>) -> Result<Made, Refused> {
    let mut body =
        json!({"name": form.get("name").trim(), "environment": desk.environment.as_str()});
    if let Some(mandate) = mandate {
        body["mandate"] = mandate;
    }
    desk.ask(Ask::post("/v1/account/keys", body).once(form.key()))
        .await
}
