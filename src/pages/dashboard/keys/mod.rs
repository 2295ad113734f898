//! API keys of one environment.

mod mandate;
mod new;
mod one;

use std::collections::HashMap;

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::inside::{Ask, Refused};
use crate::domain::Timestamp;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::route::{PageRoute, form};
use crate::pages::kit::session::Needs;
use mandate::Mandate;

pub fn routes() -> Vec<PageRoute> {
    let developer = Needs::Developer;
    vec![
        form(
            "/dashboard/{environment}/keys",
            developer,
            get(show).post(new::create),
        ),
        form(
            "/dashboard/{environment}/keys/new",
            developer,
            get(new::show).post(new::create_limited),
        ),
        form(
            "/dashboard/{environment}/keys/security",
            developer,
            post(put_security),
        ),
        form(
            "/dashboard/{environment}/keys/{id}",
            developer,
            get(one::show).post(one::change),
        ),
        form(
            "/dashboard/{environment}/keys/{id}/pause",
            developer,
            post(one::pause),
        ),
        form(
            "/dashboard/{environment}/keys/{id}/lift",
            developer,
            post(one::lift),
        ),
        form(
            "/dashboard/{environment}/keys/{id}/revoke",
            developer,
            post(one::revoke),
        ),
    ]
}

#[derive(Template)]
#[template(path = "dashboard/keys/list.html")]
struct Keys {
    shell: Shell,
    base: String,
    url: String,
    keys: Vec<Shown>,
    form: Form,
    /// Shown once, right after it was made.
    made: Option<String>,
    asks_password: bool,
    test_keys_manage: String,
}

#[derive(Deserialize)]
pub struct KeyList {
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

/// A key, and what it may do.
struct Shown {
    key: Key,
    mandate: Option<Mandate>,
    status: &'static str,
}

impl Shown {
    fn new(key: Key, mandate: Option<Mandate>, now: Timestamp) -> Self {
        let is_over = |mandate: &Mandate| {
            let end = Timestamp::RULE.check(&mandate.expires_at);
            end.is_ok_and(|end| end <= now)
        };
        let status = match &mandate {
            _ if key.revoked_at.is_some() => "revoked",
            Some(mandate) if is_over(mandate) => "expired",
            Some(mandate) if mandate.paused => "paused",
            _ => "active",
        };
        Self {
            key,
            mandate,
            status,
        }
    }
}

/// The names of keys by their ids.
pub fn key_names(keys: KeyList) -> HashMap<String, String> {
    let named = keys.data.into_iter();
    named.map(|key| (key.id, key.name)).collect()
}

#[derive(Deserialize)]
struct Security {
    test_keys_manage: String,
}

async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let notice = match query.get("done") {
        "revoked" => Some("The key is revoked. Programs that use it are refused from now on."),
        "security" => Some("What test keys may manage is changed."),
        _ => None,
    };
    shown(&desk, Form::new(), StatusCode::OK, None, notice).await
}

async fn shown(
    desk: &Desk,
    form: Form,
    status: StatusCode,
    made: Option<String>,
    notice: Option<&'static str>,
) -> Result<Response, Refused> {
    let found: KeyList = desk.ask(Ask::get("/v1/account/keys")).await?;
    let here = desk.environment.to_string();
    let mut keys = Vec::new();
    for key in found.data.into_iter().filter(|key| key.environment == here) {
        let mandate = match key.revoked_at {
            None => one::of_key(desk, &key.id).await?,
            Some(_) => None,
        };
        keys.push(Shown::new(key, mandate, desk.now()));
    }
    let security: Security = desk.ask(Ask::get("/v1/account/security")).await?;
    let template = Keys {
        shell: desk.shell("Keys", Place::Keys).notice(notice),
        base: desk.path("/keys"),
        url: desk.pages.app.own_url().to_owned(),
        asks_password: desk.asks_password(),
        test_keys_manage: security.test_keys_manage,
        keys,
        form,
        made,
    };
    Ok(page(status, &template))
}

/// What test keys may manage. To allow them more needs the password.
async fn put_security(desk: Desk, mut form: Form) -> Result<Response, Refused> {
    let wanted = form.get("test_keys_manage").to_owned();
    if wanted != "test"
        && let Some(again) = desk.password_again(form.clone()).await?
    {
        return Ok(again);
    }
    let body = json!({"test_keys_manage": wanted});
    match desk
        .ask::<Value>(Ask::put("/v1/account/security", body))
        .await
    {
        Ok(_) => Ok(Redirect::to(&desk.path("/keys?done=security")).into_response()),
        Err(refused) if refused.status.is_client_error() => {
            form = form.refused(&refused, &["test_keys_manage"]);
            shown(&desk, form, refused.status, None, None).await
        }
        Err(refused) => Err(refused),
    }
}
