//! /admin/sign-in and /admin/sign-out

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::api::inside::{Incoming, Refused};
use crate::domain::{GivenCode, Person, Secret};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
use crate::pages::kit::passkeys::{self, Button, FOR_ADMINS, Words};
use crate::pages::kit::session::{ADMIN_COOKIE, Admin, drop_cookie, set_cookie};
use crate::pages::kit::words::{When, duration};
use crate::pages::people::SESSION_ENDED;
use crate::pages::state::Pages;
use crate::sign_in::{AdminCredentials, SignInError};
use crate::usecases::{self, CodeCheck, UseCaseError};

pub const HOME: &str = "/admin/queue";

#[derive(Template)]
#[template(path = "console/sign_in.html")]
struct SignIn {
    banner: bool,
    form: Form,
    /// The key is good, and it has a second factor.
    needs_code: bool,
    words: &'static Words,
    /// If one of the key's passkeys may be used.
    passkey: Option<Button>,
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
        words: &FOR_ADMINS,
        passkey: None,
    })
}

/// What the fields `key` and `code` hold. None if there is no key.
pub fn credentials(form: &Form) -> Option<AdminCredentials> {
    let key = form.get("key").trim();
    (!key.is_empty()).then(|| AdminCredentials {
        key: Secret::presented(key),
        code: GivenCode::RULE.check(form.get("code").trim()).ok(),
    })
}

pub async fn sign_in(
    State(pages): State<Pages>,
    incoming: Incoming,
    mut form: Form,
) -> Result<Response, Refused> {
    let Some(given) = credentials(&form) else {
        form.add_fault("key", "Enter your admin key.");
        return again(&pages, form, StatusCode::BAD_REQUEST, None).await;
    };
    let agent = incoming.user_agent();
    let signed_in = pages.sign_ins.admin(given, incoming.client, agent).await;
    welcome(&pages, form, signed_in).await
}

/// The key was given before, and one of its passkeys has answered.
pub async fn passkey(
    State(pages): State<Pages>,
    incoming: Incoming,
    form: Form,
) -> Result<Response, Refused> {
    let signed_in = match passkeys::enter::given(&form) {
        Ok(given) => {
            let (client, agent) = (incoming.client, incoming.user_agent());
            let sign_ins = &pages.sign_ins;
            sign_ins.admin_with_passkey(given, client, agent).await
        }
        Err(refused) => Err(refused.into()),
    };
    welcome(&pages, form, signed_in).await
}

async fn welcome(
    pages: &Pages,
    mut form: Form,
    signed_in: Result<Secret, SignInError>,
) -> Result<Response, Refused> {
    match signed_in {
        Ok(token) => {
            let next = own_path(form.get("next")).unwrap_or(HOME);
            let mut response = Redirect::to(next).into_response();
            set_cookie(&mut response, ADMIN_COOKIE, &token);
            Ok(response)
        }
        Err(error) => {
            let who = match error {
                SignInError::CodeRequired(who) | SignInError::CodeRefused(who, _) => Some(who),
                _ => None,
            };
            let not = not_passed(pages, error)?;
            form.problem = Some(not.problem);
            again(pages, form, not.status, who).await
        }
    }
}

/// `who` has given a good key and needs a second factor.
async fn again(
    pages: &Pages,
    form: Form,
    status: StatusCode,
    who: Option<Person>,
) -> Result<Response, Refused> {
    let passkey = match who {
        Some(who) => Button::second_factor(pages, who).await?,
        None => None,
    };
    let shown = SignIn {
        banner: pages.banner(),
        form,
        needs_code: who.is_some(),
        words: &FOR_ADMINS,
        passkey,
    };
    Ok(page(status, &shown))
}

/// Why a key did not pass.
pub struct NotPassed {
    pub status: StatusCode,
    pub problem: String,
}

/// An error that is not about the key or the code is told like any other.
pub fn not_passed(pages: &Pages, error: SignInError) -> Result<NotPassed, Refused> {
    let (status, problem) = match error {
        SignInError::Refused(UseCaseError::WrongPassword | UseCaseError::Unauthorized) => (
            StatusCode::UNAUTHORIZED,
            "The key is wrong, or it was revoked.".to_owned(),
        ),
        SignInError::CodeRequired(_) => (
            StatusCode::UNAUTHORIZED,
            "This key has a second factor. Enter the key once more, and the code that your app shows or a recovery code. If the key has a passkey, use that."
                .to_owned(),
        ),
        SignInError::CodeRefused(_, CodeCheck::BlockedUntil(until)) => {
            let when = When::new(until, pages.app.clock.now()).relative;
            let problem =
                format!("Too many wrong codes. Use a recovery code, or try again {when}.");
            (StatusCode::TOO_MANY_REQUESTS, problem)
        }
        SignInError::Passkey(refused) => (
            StatusCode::UNAUTHORIZED,
            passkeys::told(&FOR_ADMINS, refused).to_owned(),
        ),
        SignInError::CodeRefused(..) => (
            StatusCode::UNAUTHORIZED,
            "The code is wrong or was used already. Wait for the next one.".to_owned(),
        ),
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
    };
    Ok(NotPassed { status, problem })
}

/// Only a page of the console: a link in a mail could name another site.
pub fn own_path(next: &str) -> Option<&str> {
    let inside = next.strip_prefix("/admin/")?;
    let plain = next
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    (plain && !inside.starts_with("sign-")).then_some(next)
}

pub async fn sign_out(State(pages): State<Pages>, admin: Admin) -> Result<Response, Refused> {
    let session = admin.visitor.session;
    let person: Person = session.person;
    let ended = pages
        .app
        .store
        .write(move |tx| usecases::sign_out(tx, person, session.id));
    ended.await?;
    let mut response = Redirect::to("/admin/sign-in").into_response();
    drop_cookie(&mut response, ADMIN_COOKIE);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_is_a_page_of_the_console() {
        for fine in ["/admin/queue?kind=dispute", "/admin/tasks/1"] {
            assert_eq!(own_path(fine), Some(fine));
        }
        for other in [
            "",
            "/admin",
            "/adminx",
            "//evil.example",
            "/admin/sign-out",
            "/admin/\\x",
        ] {
            assert_eq!(own_path(other), None, "{other:?}");
        }
    }
}
