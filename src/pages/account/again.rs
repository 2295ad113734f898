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
use crate::pages::kit::words::duration;
use crate::sign_in::SignInError;
use crate::usecases::{self, UseCaseError};

#[derive(Template)]
#[template(path = "account/again.html")]
struct Again {
    banner: bool,
    email: String,
    form: Form,
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Response {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    ok(&Again {
        banner: desk.pages.banner(),
        email: desk.visitor.account.email.clone(),
        form: Form::with([("next", query.get("next").to_owned())]),
    })
}

pub async fn check(desk: Desk, form: Form) -> Result<Response, Refused> {
    let given = form.get("password").to_owned();
    match desk.check_password(given).await {
        Ok(()) => {
            let (session, clock) = (desk.visitor.session.id, desk.pages.app.clock.clone());
            let noted = desk
                .pages
                .app
                .store
                .write(move |tx| usecases::password_given_again(tx, session, clock.now()));
            noted.await?;
            let next = own_path(form.get("next")).unwrap_or("/account");
            Ok(Redirect::to(next).into_response())
        }
        Err(error) => {
            let (status, problem) = told(error)?;
            Ok(refused(&desk, form, status, problem))
        }
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

/// Why a password was not taken, in words.
pub fn told(error: SignInError) -> Result<(StatusCode, String), Refused> {
    Ok(match error {
        SignInError::Refused(UseCaseError::WrongPassword) => (
            StatusCode::UNAUTHORIZED,
            "The password is wrong.".to_owned(),
        ),
        SignInError::TooMany(too_many) => {
            let wait = duration(too_many.retry_after_seconds);
            (
                StatusCode::TOO_MANY_REQUESTS,
                format!("Too many attempts. Try again in {wait}."),
            )
        }
        SignInError::Refused(error) => return Err(error.into()),
        _ => (
            StatusCode::SERVICE_UNAVAILABLE,
            "Try again in a moment.".to_owned(),
        ),
    })
}
