//! One key: what it may do, how much of that is used, and how to change it.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use super::mandate::{self, Choices, Mandate};
use super::{Key, KeyList, Shown};
use crate::api::inside::{Ask, Refused};
use crate::domain::{Actor, ApiKeyId};
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::segment;
use crate::usecases::{self, ManagedKey, UseCaseError};

#[derive(Template)]
#[template(path = "dashboard/keys/one.html")]
struct OneKey {
    shell: Shell,
    base: String,
    key: Key,
    mandate: Option<Mandate>,
    status: &'static str,
    /// The whole mandate, to be changed or given.
    form: Form,
    choices: Choices,
    asks_password: bool,
    /// Only with another confirmation: it is the last key of its environment.
    is_last: bool,
}

pub async fn show(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let told = Told {
        done: query.get("done").to_owned(),
        ..Told::default()
    };
    shown(&desk, &id, told).await
}

/// What a page of a key tells besides how it stands.
#[derive(Default)]
struct Told {
    status: StatusCode,
    /// What was entered, if it was refused.
    form: Option<Form>,
    /// What is said to be done.
    done: String,
    is_last: bool,
}

async fn shown(desk: &Desk, id: &str, told: Told) -> Result<Response, Refused> {
    let keys: KeyList = desk.ask(Ask::get("/v1/account/keys")).await?;
    let here = desk.environment.to_string();
    let mut found = keys.data.into_iter();
    let key = found.find(|key| key.id == id && key.environment == here);
    let key = key.ok_or(UseCaseError::KeyNotFound)?;
    let mandate = of_key(desk, id).await?;
    let as_it_is = mandate.as_ref().map(Mandate::form);
    let Shown {
        key,
        mandate,
        status,
    } = Shown::new(key, mandate, desk.now());
    let notice = notice(&told.done, status, mandate.is_some());
    let template = OneKey {
        shell: desk.shell(&key.name, Place::Keys).notice(notice),
        base: desk.path("/keys"),
        key,
        status,
        form: told.form.or(as_it_is).unwrap_or_else(|| Form::with([])),
        mandate,
        choices: Choices::new(),
        asks_password: desk.asks_password(),
        is_last: told.is_last,
    };
    Ok(page(told.status, &template))
}

/// The mandate of a key, if it has one.
pub async fn of_key(desk: &Desk, id: &str) -> Result<Option<Mandate>, Refused> {
    let ask = Ask::get(format!("/v1/account/keys/{}/mandate", segment(id)));
    match desk.ask(ask).await {
        Ok(mandate) => Ok(Some(mandate)),
        Err(refused) if refused.is("MANDATE_NOT_FOUND") => Ok(None),
        Err(refused) => Err(refused),
    }
}

/// What was just done, if the key agrees.
fn notice(done: &str, status: &str, is_limited: bool) -> Option<&'static str> {
    Some(match (done, status) {
        ("changed", _) if is_limited => {
            "The mandate is changed. It holds from the next request on."
        }
        ("paused", "paused") => {
            "The key is paused. Programs that use it are refused until you go on."
        }
        ("resumed", "active") if is_limited => "The key works again, within its mandate.",
        ("lifted", "active") if !is_limited => "The mandate is lifted: this key may do everything.",
        _ => return None,
    })
}

/// Gives the key a mandate, or another one.
pub async fn change(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    mut form: Form,
) -> Result<Response, Refused> {
    if let Some(status) = desk.confirm_password(&mut form).await? {
        return entered(&desk, &id, form, status).await;
    }
    match put(&desk, &id, mandate::body(&form)).await {
        Ok(_) => back(&desk, &id, "changed"),
        Err(refused) => again(&desk, &id, form, refused).await,
    }
}

async fn put(desk: &Desk, id: &str, body: Value) -> Result<Value, Refused> {
    let path = format!("/v1/account/keys/{}/mandate", segment(id));
    desk.ask(Ask::put(path, body)).await
}

fn back(desk: &Desk, id: &str, done: &str) -> Result<Response, Refused> {
    let path = desk.path(&format!("/keys/{}?done={done}", segment(id)));
    Ok(Redirect::to(&path).into_response())
}

/// The page with what was entered.
async fn entered(
    desk: &Desk,
    id: &str,
    form: Form,
    status: StatusCode,
) -> Result<Response, Refused> {
    let told = Told {
        form: Some(form),
        status,
        ..Told::default()
    };
    shown(desk, id, told).await
}

async fn again(desk: &Desk, id: &str, form: Form, why: Refused) -> Result<Response, Refused> {
    if !why.status.is_client_error() || why.status == 404 {
        return Err(why);
    }
    let told = Told {
        status: why.status,
        is_last: why.is("LAST_KEY"),
        form: Some(mandate::refused(form, &why)),
        ..Told::default()
    };
    shown(desk, id, told).await
}

/// Stops the key, or lets it go on. Stopping it needs no password.
pub async fn pause(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    mut form: Form,
) -> Result<Response, Refused> {
    let paused = form.has("paused", "true");
    let mandate = of_key(&desk, &id).await?;
    let mandate = mandate.ok_or(UseCaseError::MandateNotFound)?;
    if !paused && let Some(status) = desk.confirm_password(&mut form).await? {
        let with_fault = mandate.form().with_faults_of(&form);
        return entered(&desk, &id, with_fault, status).await;
    }
    let (app, account) = (&desk.pages.app, desk.visitor.account.id);
    let managed = ManagedKey {
        account,
        key: ApiKeyId::parse(&id).ok_or(UseCaseError::KeyNotFound)?,
        only_test: false,
    };
    let (by, clock) = (
        Actor::developer(ApiKeyId::of_account(account)),
        app.clock.clone(),
    );
    let done = app
        .store
        .write(move |tx| usecases::pause_mandate(tx, managed, paused, &by, clock.now()));
    match done.await {
        Ok(()) => back(&desk, &id, if paused { "paused" } else { "resumed" }),
        Err(error) => again(&desk, &id, mandate.form(), error.into()).await,
    }
}

pub async fn lift(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    mut form: Form,
) -> Result<Response, Refused> {
    if let Some(status) = desk.confirm_password(&mut form).await? {
        let mandate = of_key(&desk, &id).await?;
        let as_it_is = mandate.map_or_else(Form::new, |mandate| mandate.form());
        return entered(&desk, &id, as_it_is.with_faults_of(&form), status).await;
    }
    let path = format!("/v1/account/keys/{}/mandate", segment(&id));
    let _: Value = desk.ask(Ask::delete(path)).await?;
    back(&desk, &id, "lifted")
}

/// The last key of an environment is revoked only when that is meant.
pub async fn revoke(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let confirm = json!({"confirm": form.has("confirm", "true")});
    let ask = Ask::delete(format!("/v1/account/keys/{}", segment(&id))).with(confirm);
    match desk.ask::<Value>(ask).await {
        Ok(_) => Ok(Redirect::to(&desk.path("/keys?done=revoked")).into_response()),
        Err(refused) => again(&desk, &id, Form::new(), refused).await,
    }
}
