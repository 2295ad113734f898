//! The password again, before something dangerous.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::Refused;
use crate::pages::dashboard::Desk;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
use crate::pages::kit::session::own_path;

#[derive(Template)]
#[template(path = "account/again.html")]
struct Again {
    banner: bool,
    email: String,
    form: Form,
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    // Without a password, there is one to set first.
    if !desk.has_password().await? {
        return Ok(Redirect::to("/account?done=no_password#password-card").into_response());
    }
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    Ok(ok(&Again {
        banner: desk.pages.banner(),
        email: desk.visitor.account.email.clone(),
        form: Form::with([("next", query.get("next").to_owned())]),
    }))
}

pub async fn check(desk: Desk, form: Form) -> Result<Response, Refused> {
    let given = form.get("password").to_owned();
    match desk.give_password(given).await? {
        Ok(()) => {
            let next = own_path(form.get("next")).unwrap_or("/account");
            Ok(Redirect::to(next).into_response())
        }
        Err((status, problem)) => Ok(refused(&desk, form, status, problem)),
    }
}

fn refused(desk: &Desk, mut form: Form, status: StatusCode, problem: String) -> Response {
    form.problem = Some(problem);
    let again = Again {
        banner: desk.pages.banner(),
        email: desk.visitor.account.email.clone(),
        form,
    };
    page(status, &again)
}
