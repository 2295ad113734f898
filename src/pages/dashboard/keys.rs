//! API keys of one environment.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::inside::{Ask, Refused};
use crate::domain::Environment;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::tasks::segment;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "dashboard/keys.html")]
struct Keys {
    shell: Shell,
    base: String,
    url: String,
    keys: Vec<Key>,
    form: Form,
    /// Shown once, right after it was made.
    made: Option<String>,
    recent: bool,
}

#[derive(Deserialize)]
struct KeyList {
    data: Vec<Key>,
}

#[derive(Deserialize)]
struct Key {
    id: String,
    name: String,
    key_prefix: String,
    environment: String,
    last_used_at: Option<String>,
    revoked_at: Option<String>,
    created_at: String,
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let revoked = query.get("done") == "revoked";
    let notice =
        revoked.then_some("The key is revoked. Programs that use it are refused from now on.");
    shown(&desk, Form::new(), StatusCode::OK, None, notice).await
}

async fn shown(
    desk: &Desk,
    form: Form,
    status: StatusCode,
    made: Option<String>,
    notice: Option<&'static str>,
) -> Result<Response, Refused> {
    let keys: KeyList = desk.ask(Ask::get("/v1/account/keys")).await?;
    let here = desk.environment.to_string();
    let keys = keys.data.into_iter().filter(|key| key.environment == here);
    Ok(page(
        status,
        &Keys {
            shell: desk.shell("Keys", Place::Keys).notice(notice),
            base: desk.path(""),
            url: desk.pages.app.own_url().to_owned(),
            keys: keys.collect(),
            recent: desk.is_recent(),
            form,
            made,
        },
    ))
}

#[derive(Deserialize)]
struct Made {
    key: String,
}

pub async fn create(desk: Desk, form: Form) -> Result<Response, Refused> {
    if desk.environment == Environment::Live
        && let Some(again) = desk.password_again("/keys")
    {
        return Ok(again);
    }
    let body = json!({"name": form.get("name").trim(), "environment": desk.environment.as_str()});
    match desk
        .ask::<Made>(Ask::post("/v1/account/keys", body).once(form.key()))
        .await
    {
        Ok(made) => shown(&desk, Form::new(), StatusCode::OK, Some(made.key), None).await,
        Err(refused) if refused.status.is_client_error() => {
            let (status, form) = (refused.status, form.refused(&refused, &["name"]));
            shown(&desk, form, status, None, None).await
        }
        Err(refused) => Err(refused),
    }
}

pub async fn revoke(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let ask = Ask::delete(format!("/v1/account/keys/{}", segment(&id)));
    match desk.ask::<Value>(ask).await {
        Ok(_) => Ok(Redirect::to(&desk.path("/keys?done=revoked")).into_response()),
        Err(refused) if refused.status == 409 => {
            let (status, form) = (refused.status, form.refused(&refused, &[]));
            shown(&desk, form, status, None, None).await
        }
        Err(refused) => Err(refused),
    }
}
