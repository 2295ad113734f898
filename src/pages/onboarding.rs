//! /onboarding/{link_secret}: workers complete a payout account of the sandbox processor here. Also
//! the pages to which a real processor sends workers back.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::Pages;
use super::html::{message, no_sandbox, not_found, page, unavailable};
use super::pay::receive;

#[derive(Template)]
#[template(path = "onboarding.html")]
struct Form;

pub async fn show(State(pages): State<Pages>, Path(secret): Path<String>) -> Response {
    let Some(sandbox) = &pages.payments.sandbox else {
        return no_sandbox();
    };
    match sandbox.payout_account(&secret).await {
        Ok(Some(account)) if account.ready => complete_already(),
        Ok(Some(_)) => page(StatusCode::OK, &Form),
        Ok(None) => not_found(),
        Err(error) => unavailable(&error),
    }
}

pub async fn complete(State(pages): State<Pages>, Path(secret): Path<String>) -> Response {
    let Some(sandbox) = &pages.payments.sandbox else {
        return no_sandbox();
    };
    let account = match sandbox.payout_account(&secret).await {
        Ok(Some(account)) => account,
        Ok(None) => return not_found(),
        Err(error) => return unavailable(&error),
    };
    match sandbox.complete_payout_account(&account).await {
        Ok(event) => {
            receive(&pages, event).await;
            complete_already()
        }
        Err(error) => unavailable(&error),
    }
}

pub async fn done() -> Response {
    let text = "Your payout account is being checked. You can close this page.";
    message(StatusCode::OK, "Thank you", text)
}

pub async fn expired() -> Response {
    let text = "A link works once and for a short time. Please request a new one.";
    message(StatusCode::OK, "This link has expired", text)
}

fn complete_already() -> Response {
    let text = "Your payout account is ready. You can close this page.";
    message(StatusCode::OK, "Thank you", text)
}
