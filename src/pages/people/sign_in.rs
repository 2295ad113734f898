//! /sign-in

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::api::inside::{Incoming, Refused};
use crate::domain::{GivenCode, Person};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
use crate::pages::kit::passkeys::{self, Button, ENGLISH, Words};
use crate::pages::kit::session::{DEVELOPER_COOKIE, own_path, set_cookie};
use crate::pages::kit::words::{When, duration};
use crate::pages::state::Pages;
use crate::sign_in::{Credentials, SignInError};
use crate::usecases::{CodeCheck, SignedIn, UseCaseError};

const HOME: &str = "/dashboard/test";
/// For whoever has sent a form.
pub const SESSION_ENDED: &str =
    "Your session had ended, so nothing was saved. Sign in, and you come back to where you were.";

#[derive(Template)]
#[template(path = "people/sign_in.html")]
struct SignIn {
    banner: bool,
    form: Form,
    /// The password was right, and there is a second factor.
    needs_code: bool,
    words: &'static Words,
    passkey: Button,
}

#[derive(Deserialize)]
pub struct After {
    #[serde(default)]
    next: String,
    #[serde(default)]
    done: String,
}

pub async fn show(State(pages): State<Pages>, Query(after): Query<After>) -> Response {
    let mut form = Form::with([("next", after.next)]);
    form.problem = (after.done == "ended").then(|| SESSION_ENDED.to_owned());
    ok(&SignIn {
        banner: pages.banner(),
        form,
        needs_code: false,
        words: &ENGLISH,
        passkey: Button::new(&pages),
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
        return again(&pages, form, (StatusCode::BAD_REQUEST, problem), None).await;
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
        Err(error) => not_signed_in(&pages, form, error).await,
    }
}

/// A challenge for the script.
pub async fn passkey_options(State(pages): State<Pages>) -> Result<Response, Refused> {
    passkeys::enter::options(&pages).await
}

/// What a passkey has answered.
pub async fn passkey(
    State(pages): State<Pages>,
    incoming: Incoming,
    form: Form,
) -> Result<Response, Refused> {
    let signed_in = match passkeys::enter::given(&form) {
        Ok(given) => {
            let agent = incoming.user_agent();
            let sign_ins = &pages.sign_ins;
            sign_ins
                .developer_with_passkey(given, incoming.client, agent)
                .await
        }
        Err(refused) => Err(refused.into()),
    };
    match signed_in {
        Ok(signed_in) => Ok(welcome(&signed_in, form.get("next"))),
        Err(error) => not_signed_in(&pages, form, error).await,
    }
}

async fn not_signed_in(pages: &Pages, form: Form, error: SignInError) -> Result<Response, Refused> {
    let who = match error {
        SignInError::CodeRequired(who) | SignInError::CodeRefused(who, _) => Some(who),
        _ => None,
    };
    again(pages, form, problem_of(pages, error)?, who).await
}

/// An error that is not about what was entered is told like any other.
fn problem_of(pages: &Pages, error: SignInError) -> Result<(StatusCode, String), Refused> {
    let unauthorized = StatusCode::UNAUTHORIZED;
    Ok(match error {
        SignInError::Refused(UseCaseError::WrongPassword) => (
            unauthorized,
            "The e-mail address or the password is wrong.".to_owned(),
        ),
        SignInError::CodeRequired(_) => {
            let problem = "Your account has a second factor. Enter your password once more, and the code that your app shows or a recovery code. If you have a passkey, use that.";
            (unauthorized, problem.to_owned())
        }
        SignInError::CodeRefused(_, CodeCheck::BlockedUntil(until)) => {
            let when = When::new(until, pages.app.clock.now()).relative;
            let problem =
                format!("Too many wrong codes. Use a recovery code, or try again {when}.");
            (StatusCode::TOO_MANY_REQUESTS, problem)
        }
        SignInError::CodeRefused(..) => (
            unauthorized,
            "The code is wrong or was used already. Wait for the next one.".to_owned(),
        ),
        SignInError::Passkey(refused) => {
            (unauthorized, passkeys::told(&ENGLISH, refused).to_owned())
        }
        SignInError::TooMany(too_many) => {
            let wait = duration(too_many.retry_after_seconds);
            let problem = format!("Too many attempts to sign in. Try again in {wait}.");
            (StatusCode::TOO_MANY_REQUESTS, problem)
        }
        SignInError::Busy => (
            StatusCode::SERVICE_UNAVAILABLE,
            "Many people are signing in. Try again in a moment.".to_owned(),
        ),
        SignInError::Refused(error) => return Err(error.into()),
    })
}

/// `who` has given a right password and needs a second factor.
async fn again(
    pages: &Pages,
    mut form: Form,
    (status, problem): (StatusCode, String),
    who: Option<Person>,
) -> Result<Response, Refused> {
    let own = match who {
        Some(who) => Button::second_factor(pages, who).await?,
        None => None,
    };
    form.problem = Some(problem);
    let shown = SignIn {
        banner: pages.banner(),
        form,
        needs_code: who.is_some(),
        words: &ENGLISH,
        passkey: own.unwrap_or_else(|| Button::new(pages)),
    };
    Ok(page(status, &shown))
}

fn welcome(signed_in: &SignedIn, next: &str) -> Response {
    let mut response = Redirect::to(own_path(next).unwrap_or(HOME)).into_response();
    set_cookie(&mut response, DEVELOPER_COOKIE, &signed_in.token);
    response
}
