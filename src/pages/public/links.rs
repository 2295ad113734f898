//! /confirm, /reset and /invite: where links in mails lead. GET shows a form and changes nothing, because
//! programs that check mails follow links. The token in the path is in no log: those have the pattern.

use askama::Template;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::api::inside::Incoming;
use crate::domain::people::password::{PASSWORD, REVEALS_ADDRESS, reveals_address};
use crate::domain::{PersonKind, Secret};
use crate::limits::Applicant;
use crate::pages::kit::form::field;
use crate::pages::kit::html::{message, message_with, page};
use crate::pages::state::Pages;
use crate::sign_in::SignInError;
use crate::usecases::{self, PasswordLink, UseCaseError};

#[derive(Template)]
#[template(path = "public/confirm.html")]
struct ConfirmForm<'a> {
    banner: bool,
    email: &'a str,
    problem: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "public/password.html")]
struct PasswordForm<'a> {
    banner: bool,
    email: &'a str,
    problem: Option<String>,
}

pub async fn show_confirm(State(pages): State<Pages>, Path(token): Path<String>) -> Response {
    confirm_form(&pages, StatusCode::OK, &Secret::presented(&token), None).await
}

/// Who reads the mail of the address need not be who signed up with it, so the form asks for the password.
async fn confirm_form(
    pages: &Pages,
    status: StatusCode,
    token: &Secret,
    problem: Option<&str>,
) -> Response {
    let (token, now) = (token.clone(), pages.app.clock.now());
    let link = pages
        .app
        .store
        .read(move |tx| usecases::confirmation(tx, &token, now));
    match link.await {
        Ok(link) => {
            let form = ConfirmForm {
                banner: pages.banner(),
                email: &link.email,
                problem,
            };
            page(status, &form)
        }
        Err(error) => refused(pages, &error),
    }
}

pub async fn confirm(
    State(pages): State<Pages>,
    Path(token): Path<String>,
    incoming: Incoming,
    request: Request,
) -> Response {
    let token = Secret::presented(&token);
    let password = match field(request, "password").await {
        Ok(password) => password,
        Err(problem) => {
            let bad = StatusCode::BAD_REQUEST;
            return confirm_form(&pages, bad, &token, Some(problem)).await;
        }
    };
    let given = (token.clone(), password);
    match pages.sign_ins.confirm(given, None, incoming.client).await {
        Ok((email, whose)) => {
            let text = format!("{email} is confirmed.");
            let told = ("Thank you", text.as_str());
            message_with(&pages, StatusCode::OK, told, on(whose))
        }
        Err(SignInError::Refused(UseCaseError::WrongPassword)) => {
            let problem = Some("Nobody signed up with this address and this password.");
            confirm_form(&pages, StatusCode::BAD_REQUEST, &token, problem).await
        }
        Err(SignInError::TooMany(_)) => {
            let text = "Please wait a few minutes, then try again.";
            let status = StatusCode::TOO_MANY_REQUESTS;
            message(&pages, status, "Too many wrong passwords", text)
        }
        Err(SignInError::Refused(error)) => refused(&pages, &error),
        Err(error) => unavailable(&pages, &error),
    }
}

pub async fn show_password(State(pages): State<Pages>, Path(token): Path<String>) -> Response {
    match good_link(&pages, &Secret::presented(&token)).await {
        Ok(link) => password_form(&pages, StatusCode::OK, &link.email, None),
        Err(error) => refused(&pages, &error),
    }
}

pub async fn set_password(
    State(pages): State<Pages>,
    Path(token): Path<String>,
    incoming: Incoming,
    request: Request,
) -> Response {
    let token = Secret::presented(&token);
    let link = match good_link(&pages, &token).await {
        Ok(link) => link,
        Err(error) => return refused(&pages, &error),
    };
    let password = match chosen(request, &link.email).await {
        Ok(password) => password,
        Err(problem) => {
            return password_form(&pages, StatusCode::BAD_REQUEST, &link.email, Some(problem));
        }
    };
    let applicant = Applicant::known(incoming.client);
    let hash = match pages.app.passwords.hash(password, applicant).await {
        Ok(hash) => hash,
        Err(error) => return unavailable(&pages, &error),
    };
    let clock = pages.app.clock.clone();
    let set = pages
        .app
        .store
        .write(move |tx| usecases::set_password(tx, &token, &hash, clock.now()));
    match set.await {
        Ok(()) => {
            let text = "Your password is set, and all sessions were ended.";
            message_with(&pages, StatusCode::OK, ("Thank you", text), on(link.kind))
        }
        Err(error) => refused(&pages, &error),
    }
}

/// A link with which a password can be chosen, if it is still good.
async fn good_link(pages: &Pages, token: &Secret) -> Result<PasswordLink, UseCaseError> {
    let (token, now) = (token.clone(), pages.app.clock.now());
    let link = pages
        .app
        .store
        .read(move |tx| usecases::password_link(tx, &token, now));
    link.await
}

/// Where whoever has used a link goes on.
fn on(whose: PersonKind) -> &'static [(&'static str, &'static str)] {
    match whose {
        PersonKind::Worker => &[("/worker/sign-in", "Sign in to the app")],
        PersonKind::Account => &[("/sign-in", "Sign in")],
        PersonKind::Admin => &[("/admin/sign-in", "Sign in")],
    }
}

async fn chosen(request: Request, email: &str) -> Result<String, String> {
    let password = field(request, "password").await?;
    let password = PASSWORD.check(&password)?;
    if reveals_address(&password, email) {
        return Err(REVEALS_ADDRESS.to_owned());
    }
    Ok(password)
}

fn password_form(
    pages: &Pages,
    status: StatusCode,
    email: &str,
    problem: Option<String>,
) -> Response {
    let form = PasswordForm {
        banner: pages.banner(),
        email,
        problem,
    };
    page(status, &form)
}

fn unavailable(pages: &Pages, error: &dyn std::error::Error) -> Response {
    tracing::warn!(%error, "page unavailable");
    let text = "Nothing was changed. Please try again in a moment.";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    message(pages, status, "Temporarily unavailable", text)
}

/// A link that does not work any more does not tell whose it was.
const ENTRANCES: &[(&str, &str)] = &[
    ("/sign-in", "Developers: sign in"),
    ("/worker/sign-in", "Workers: sign in"),
];

fn refused(pages: &Pages, error: &UseCaseError) -> Response {
    match error {
        UseCaseError::LinkExpired => {
            let text = "A link works once and for a limited time. Sign in, or ask for a new one.";
            let told = ("This link has expired", text);
            message_with(pages, StatusCode::GONE, told, ENTRANCES)
        }
        UseCaseError::EmailTaken | UseCaseError::WorkerEmailTaken => {
            let text = "Another account has this e-mail address. Sign in to that one.";
            let told = ("This address is in use", text);
            message_with(pages, StatusCode::CONFLICT, told, ENTRANCES)
        }
        error => unavailable(pages, error),
    }
}
