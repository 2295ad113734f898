//! /onboarding/{link_secret}: workers complete a payout account of the sandbox processor here. Also
//! the pages to which a real processor sends workers back.

use askama::Template;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::pages::kit::html::{message, message_with, no_sandbox, not_found, page, unavailable};
use crate::pages::public::pay::{form_fields, receive};
use crate::pages::state::Pages;
use crate::payments::sandbox::OnboardingOutcome;

#[derive(Template)]
#[template(path = "public/onboarding.html")]
struct Form {
    banner: bool,
}

pub async fn show(State(pages): State<Pages>, Path(secret): Path<String>) -> Response {
    let Some(sandbox) = &pages.app.payments.sandbox else {
        return no_sandbox(&pages);
    };
    match sandbox.payout_account(&secret).await {
        Ok(Some(account)) if account.ready => complete_already(&pages),
        Ok(Some(_)) => page(
            StatusCode::OK,
            &Form {
                banner: pages.banner(),
            },
        ),
        Ok(None) => not_found(&pages),
        Err(error) => unavailable(&pages, &error),
    }
}

pub async fn complete(
    State(pages): State<Pages>,
    Path(secret): Path<String>,
    request: Request,
) -> Response {
    let Some(sandbox) = &pages.app.payments.sandbox else {
        return no_sandbox(&pages);
    };
    let account = match sandbox.payout_account(&secret).await {
        Ok(Some(account)) => account,
        Ok(None) => return not_found(&pages),
        Err(error) => return unavailable(&pages, &error),
    };
    let Some(outcome) = outcome(request).await else {
        let text = "The outcome must be ready, pending or payouts_refused.";
        return message(&pages, StatusCode::BAD_REQUEST, "Unknown outcome", text);
    };
    let completed = sandbox.complete_payout_account(&account, outcome).await;
    match completed {
        Ok(Some(event)) => {
            receive(&pages, event).await;
            complete_already(&pages)
        }
        Ok(None) if account.ready => complete_already(&pages),
        Ok(None) => done(State(pages)).await,
        Err(error) => unavailable(&pages, &error),
    }
}

/// What the form asks for. Without a field, the account becomes ready.
async fn outcome(request: Request) -> Option<OnboardingOutcome> {
    let fields = form_fields(request).await?;
    let outcome = fields.iter().find(|(name, _)| name == "outcome");
    match outcome {
        Some((_, outcome)) => OnboardingOutcome::parse(outcome),
        None => Some(OnboardingOutcome::Ready),
    }
}

/// Workers come here from their app, or from a program of their own.
const BACK: &[(&str, &str)] = &[("/worker/start", "Back to the app")];

pub async fn done(State(pages): State<Pages>) -> Response {
    let text = "Your payout account is being checked. You can close this page.";
    message_with(&pages, StatusCode::OK, ("Thank you", text), BACK)
}

pub async fn expired(State(pages): State<Pages>) -> Response {
    let text = "A link works once and for a short time. Please request a new one.";
    message_with(
        &pages,
        StatusCode::OK,
        ("This link has expired", text),
        BACK,
    )
}

fn complete_already(pages: &Pages) -> Response {
    let text = "Your payout account is ready. You can close this page.";
    message_with(pages, StatusCode::OK, ("Thank you", text), BACK)
}
