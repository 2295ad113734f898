//! /confirm, /reset and /invite: where links in mails lead. GET shows a form and changes nothing, because
//! programs that check mails follow links. The token in the path is in no log: those have the pattern.

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::people::password::{PASSWORD, REVEALS_ADDRESS, reveals_address};
use crate::domain::{LinkPurpose, Secret};
use crate::pages::kit::form::field;
use crate::pages::kit::html::{message, page};
use crate::pages::state::Pages;
use crate::passwords::HashError;
use crate::usecases::{self, UseCaseError};

#[derive(Template)]
#[template(path = "public/confirm.html")]
struct ConfirmForm<'a> {
    banner: bool,
    email: &'a str,
}

#[derive(Template)]
#[template(path = "public/password.html")]
struct PasswordForm<'a> {
    banner: bool,
    email: &'a str,
    problem: Option<String>,
}

pub async fn show_confirm(State(pages): State<Pages>, Path(token): Path<String>) -> Response {
    const PURPOSES: [LinkPurpose; 2] = [LinkPurpose::ConfirmEmail, LinkPurpose::ChangeEmail];
    let (token, now) = (Secret::presented(&token), pages.app.clock.now());
    let link = pages
        .app
        .store
        .read(move |tx| usecases::good_link(tx, &token, &PURPOSES, now));
    match link.await {
        Ok(link) => {
            let (banner, email) = (pages.banner(), link.email.as_str());
            page(StatusCode::OK, &ConfirmForm { banner, email })
        }
        Err(error) => refused(&pages, &error),
    }
}

pub async fn confirm(State(pages): State<Pages>, Path(token): Path<String>) -> Response {
    let (token, clock) = (Secret::presented(&token), pages.app.clock.clone());
    let confirmed = pages
        .app
        .store
        .write(move |tx| usecases::confirm_email(tx, &token, clock.now()));
    match confirmed.await {
        Ok(email) => {
            let text = format!("{email} is confirmed. You can close this page.");
            message(&pages, StatusCode::OK, "Thank you", &text)
        }
        Err(error) => refused(&pages, &error),
    }
}

pub async fn show_password(State(pages): State<Pages>, Path(token): Path<String>) -> Response {
    match email_of(&pages, &Secret::presented(&token)).await {
        Ok(email) => password_form(&pages, StatusCode::OK, &email, None),
        Err(error) => refused(&pages, &error),
    }
}

pub async fn set_password(
    State(pages): State<Pages>,
    Path(token): Path<String>,
    body: Body,
) -> Response {
    let token = Secret::presented(&token);
    let email = match email_of(&pages, &token).await {
        Ok(email) => email,
        Err(error) => return refused(&pages, &error),
    };
    let password = match chosen(body, &email).await {
        Ok(password) => password,
        Err(problem) => {
            return password_form(&pages, StatusCode::BAD_REQUEST, &email, Some(problem));
        }
    };
    let hash = match pages.app.passwords.hash(password).await {
        Ok(hash) => hash,
        Err(error) => return not_hashed(&pages, &error),
    };
    let clock = pages.app.clock.clone();
    let set = pages
        .app
        .store
        .write(move |tx| usecases::set_password(tx, &token, &hash, clock.now()));
    match set.await {
        Ok(()) => {
            let text =
                "Your password is set, and all sessions were ended. You can close this page.";
            message(&pages, StatusCode::OK, "Thank you", text)
        }
        Err(error) => refused(&pages, &error),
    }
}

/// The address of a link that is still good.
async fn email_of(pages: &Pages, token: &Secret) -> Result<String, UseCaseError> {
    let (token, now) = (token.clone(), pages.app.clock.now());
    let link = pages
        .app
        .store
        .read(move |tx| usecases::password_link(tx, &token, now));
    Ok(link.await?.email)
}

async fn chosen(body: Body, email: &str) -> Result<String, String> {
    let password = field(body, "password").await?;
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

fn not_hashed(pages: &Pages, error: &HashError) -> Response {
    tracing::warn!(%error, "page unavailable");
    let text = "Nothing was changed. Please try again in a moment.";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    message(pages, status, "Temporarily unavailable", text)
}

fn refused(pages: &Pages, error: &UseCaseError) -> Response {
    match error {
        UseCaseError::LinkExpired => {
            let text = "A link works once and for a limited time. Please ask for a new one.";
            message(pages, StatusCode::GONE, "This link has expired", text)
        }
        UseCaseError::EmailTaken | UseCaseError::WorkerEmailTaken => {
            let text = "Another account has this e-mail address. Sign in to that one.";
            message(pages, StatusCode::CONFLICT, "This address is in use", text)
        }
        error => {
            tracing::warn!(%error, "page unavailable");
            let text = "Nothing was changed. Please try again in a moment.";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            message(pages, status, "Temporarily unavailable", text)
        }
    }
}
