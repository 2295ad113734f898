//! The password or a passkey again, before something dangerous.

use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::Refused;
use crate::pages::dashboard::{ACTION, Desk, told};
use crate::pages::kit::form::Form;
use crate::pages::kit::passkeys::enter;
use crate::pages::kit::session::own_path;

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let form = Form::with([("next", query.get("next").to_owned())]);
    desk.ask_password(StatusCode::OK, form).await
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

/// A form that waited is sent again by the browser, with all its fields, to where it was sent first.
fn go_on(form: &Form) -> Response {
    match own_path(form.get(ACTION)) {
        Some(action) => Redirect::temporary(action).into_response(),
        None => Redirect::to(own_path(form.get("next")).unwrap_or("/account")).into_response(),
    }
}

async fn refused(
    desk: &Desk,
    mut form: Form,
    (status, problem): (StatusCode, String),
) -> Result<Response, Refused> {
    form.problem = Some(problem);
    desk.ask_password(status, form).await
}
