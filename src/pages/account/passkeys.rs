//! /account/passkeys

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::Refused;
use crate::domain::{Actor, Person};
use crate::pages::dashboard::Desk;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::passkeys::{ENGLISH, Manage, Owner};
use crate::pages::kit::words::When;

const BASE: &str = "/account/passkeys";
/// The password first, and then this page.
const AGAIN: &str = "/account/again?next=%2Faccount%2Fpasskeys";

#[derive(Template)]
#[template(path = "account/passkeys.html")]
struct Passkeys {
    shell: Shell,
    it: Manage,
}

fn owner(desk: &Desk) -> Owner<'_> {
    let account = &desk.visitor.account;
    Owner {
        pages: &desk.pages,
        person: Person::Account(account.id),
        label: account.email.clone(),
        by: Actor::account(account.id),
        session: (desk.token(), desk.visitor.session.second_factor),
        words: &ENGLISH,
        base: BASE,
    }
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let notice = match query.get("done") {
        "added" => Some("The passkey is added. You can sign in with it from now on."),
        "removed" => Some("The passkey is removed."),
        _ => None,
    };
    shown(&desk, StatusCode::OK, (Form::new(), Vec::new()), notice).await
}

async fn shown(
    desk: &Desk,
    status: StatusCode,
    more: (Form, Vec<String>),
    notice: Option<&'static str>,
) -> Result<Response, Refused> {
    let now = desk.pages.app.clock.now();
    let it = owner(desk).manage(more, |at| When::new(at, now)).await?;
    let shell = desk.account_shell("Passkeys").script("passkeys");
    let shell = shell.notice(notice);
    Ok(page(status, &Passkeys { shell, it }))
}

/// For the script. What it cannot show, such as the page for the password, it opens.
pub async fn options(desk: Desk) -> Result<Response, Refused> {
    let again = (!desk.is_recent()).then_some(AGAIN);
    owner(&desk).options(again).await
}

pub async fn add(desk: Desk, form: Form) -> Result<Response, Refused> {
    // What the browser made is for one challenge, which does not wait.
    if !desk.is_recent() {
        return Ok(Redirect::to(AGAIN).into_response());
    }
    match owner(&desk).add(form).await? {
        Ok(codes) if codes.is_empty() => {
            Ok(Redirect::to("/account/passkeys?done=added").into_response())
        }
        Ok(codes) => codes_shown(desk, codes).await,
        Err((status, form)) => shown(&desk, status, (form, Vec::new()), None).await,
    }
}

/// The session counts as one with a second factor from now on.
async fn codes_shown(mut desk: Desk, codes: Vec<String>) -> Result<Response, Refused> {
    desk.visitor.session.second_factor = true;
    shown(&desk, StatusCode::OK, (Form::new(), codes), None).await
}

pub async fn remove(desk: Desk, Path(id): Path<String>) -> Result<Response, Refused> {
    if let Some(again) = desk.password_again(Form::default()).await? {
        return Ok(again);
    }
    // One that was removed elsewhere is gone, as it should be.
    owner(&desk).remove(&id).await?;
    Ok(Redirect::to("/account/passkeys?done=removed").into_response())
}

pub async fn new_codes(desk: Desk) -> Result<Response, Refused> {
    if let Some(again) = desk.password_again(Form::default()).await? {
        return Ok(again);
    }
    let codes = owner(&desk).new_codes().await?;
    codes_shown(desk, codes).await
}
