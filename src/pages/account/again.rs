//! The password or a passkey again, before something dangerous.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::Refused;
use crate::pages::dashboard::{Desk, told};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::passkeys::{Button, ENGLISH, Words, enter};
use crate::pages::kit::session::own_path;

#[derive(Template)]
#[template(path = "account/again.html")]
struct Again {
    banner: bool,
    email: String,
    form: Form,
    has_password: bool,
    words: &'static Words,
    /// For whoever has a passkey.
    passkey: Option<Button>,
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let form = Form::with([("next", query.get("next").to_owned())]);
    shown(&desk, StatusCode::OK, form).await
}

async fn shown(desk: &Desk, status: StatusCode, form: Form) -> Result<Response, Refused> {
    let has_password = desk.has_password().await?;
    let passkey = Button::again(&desk.pages, desk.visitor.session.person).await?;
    // Without either, there is a password to set first.
    if !has_password && passkey.is_none() {
        return Ok(Redirect::to("/account?done=no_password#password-card").into_response());
    }
    let again = Again {
        banner: desk.pages.banner(),
        email: desk.visitor.account.email.clone(),
        form,
        has_password,
        words: &ENGLISH,
        passkey,
    };
    Ok(page(status, &again))
}

pub async fn check(desk: Desk, form: Form) -> Result<Response, Refused> {
    let given = form.get("password").to_owned();
    match desk.give_password(given).await? {
        Ok(()) => Ok(go_on(&form)),
        Err(problem) => refused(&desk, form, problem).await,
    }
}

/// For the script.
pub async fn options(desk: Desk) -> Result<Response, Refused> {
    enter::options_again(&desk.pages, desk.visitor.session.person).await
}

/// What a passkey has answered.
pub async fn passkey(desk: Desk, form: Form) -> Result<Response, Refused> {
    let (session, client) = (&desk.visitor.session, desk.incoming.client);
    match enter::again(&desk.pages, session, (&form, client)).await {
        Ok(()) => Ok(go_on(&form)),
        Err(error) => refused(&desk, form, told(error)?).await,
    }
}

fn go_on(form: &Form) -> Response {
    let next = own_path(form.get("next")).unwrap_or("/account");
    Redirect::to(next).into_response()
}

async fn refused(
    desk: &Desk,
    mut form: Form,
    (status, problem): (StatusCode, String),
) -> Result<Response, Refused> {
    form.problem = Some(problem);
    shown(desk, status, form).await
}
