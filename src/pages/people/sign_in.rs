//! /sign-in

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::api::inside::{Incoming, Refused};
use crate::domain::GivenCode;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
use crate::pages::kit::session::{DEVELOPER_COOKIE, own_path, set_cookie};
use crate::pages::kit::words::{When, duration};
use crate::pages::state::Pages;
use crate::sign_in::{Credentials, SignInError};
use crate::usecases::{CodeCheck, SignedIn, UseCaseError};

const HOME: &str = "/dashboard/test";

#[derive(Template)]
#[template(path = "people/sign_in.html")]
struct SignIn {
    banner: bool,
    form: Form,
    /// The password was right, and there is a second factor.
    needs_code: bool,
}

#[derive(Deserialize)]
pub struct After {
    #[serde(default)]
    next: String,
}

pub async fn show(State(pages): State<Pages>, Query(after): Query<After>) -> Response {
    ok(&SignIn {
        banner: pages.banner(),
        form: Form::with([("next", after.next)]),
        needs_code: false,
    })
}

pub async fn sign_in(
    State(pages): State<Pages>,
    incoming: Incoming,
    form: Form,
) -> Result<Response, Refused> {
    let email = form.get("email").trim().to_lowercase();
    if email.is_empty() || form.get("password").is_empty() {
        let problem = "Enter your e-mail address and your password.".to_owned();
        return Ok(again(&pages, form, StatusCode::BAD_REQUEST, problem, false));
    }
    let given = Credentials {
        email,
        password: form.get("password").to_owned(),
        code: GivenCode::RULE.check(form.get("code")).ok(),
    };
    let agent = incoming.user_agent();
    match pages
        .sign_ins
        .developer(given, incoming.client, agent)
        .await
    {
        Ok(signed_in) => Ok(welcome(&signed_in, form.get("next"))),
        Err(error) => not_signed_in(&pages, form, error),
    }
}

fn not_signed_in(pages: &Pages, form: Form, error: SignInError) -> Result<Response, Refused> {
    let unauthorized = StatusCode::UNAUTHORIZED;
    Ok(match error {
        SignInError::Refused(UseCaseError::WrongPassword) => {
            let problem = "The e-mail address or the password is wrong.".to_owned();
            again(pages, form, unauthorized, problem, false)
        }
        SignInError::CodeRequired => {
            let problem = "Your account has a second factor. Enter your password once more, and the code that your app shows.";
            again(pages, form, unauthorized, problem.to_owned(), true)
        }
        SignInError::CodeRefused(CodeCheck::BlockedUntil(until)) => {
            let when = When::new(until, pages.app.clock.now()).relative;
            let problem =
                format!("Too many wrong codes. Use a recovery code, or try again {when}.");
            again(pages, form, StatusCode::TOO_MANY_REQUESTS, problem, true)
        }
        SignInError::CodeRefused(_) => {
            let problem =
                "The code is wrong or was used already. Wait for the next one.".to_owned();
            again(pages, form, unauthorized, problem, true)
        }
        SignInError::TooMany(too_many) => {
            let wait = duration(too_many.retry_after_seconds);
            let problem = format!("Too many attempts to sign in. Try again in {wait}.");
            again(pages, form, StatusCode::TOO_MANY_REQUESTS, problem, false)
        }
        SignInError::Busy => {
            let problem = "Many people are signing in. Try again in a moment.".to_owned();
            again(pages, form, StatusCode::SERVICE_UNAVAILABLE, problem, false)
        }
        SignInError::Refused(error) => return Err(error.into()),
    })
}

fn again(
    pages: &Pages,
    mut form: Form,
    status: StatusCode,
    problem: String,
    needs_code: bool,
) -> Response {
    form.problem = Some(problem);
    let shown = SignIn {
        banner: pages.banner(),
        form,
        needs_code,
    };
    page(status, &shown)
}

fn welcome(signed_in: &SignedIn, next: &str) -> Response {
    let mut response = Redirect::to(own_path(next).unwrap_or(HOME)).into_response();
    set_cookie(&mut response, DEVELOPER_COOKIE, &signed_in.token);
    response
}
