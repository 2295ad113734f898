//! /pay/{client_secret}: the payment page of the sandbox processor.

use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::Pages;
use super::html::page;
use crate::domain::PaymentStatus;
use crate::payments::sandbox::{Card, Paid};
use crate::store::SandboxPayment;
use crate::usecases;

const MAX_FORM_BYTES: usize = 16 * 1024;
const FORM_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Template)]
#[template(path = "pay.html")]
struct Form<'a> {
    banner: bool,
    amount: String,
    problem: Option<&'a str>,
}

pub async fn show(State(pages): State<Pages>, Path(secret): Path<String>) -> Response {
    let Some(sandbox) = &pages.payments.sandbox else {
        return pages.no_sandbox();
    };
    match sandbox.payment(&secret).await {
        Ok(Some(payment)) => match payment.status {
            PaymentStatus::Succeeded => paid(&pages, &payment),
            PaymentStatus::Cancelled => cancelled(&pages, StatusCode::OK),
            _ => form(&pages, StatusCode::OK, &payment, None),
        },
        Ok(None) => pages.not_found(),
        Err(error) => pages.unavailable(&error),
    }
}

pub async fn pay(State(pages): State<Pages>, Path(secret): Path<String>, body: Body) -> Response {
    let Some(sandbox) = &pages.payments.sandbox else {
        return pages.no_sandbox();
    };
    let payment = match sandbox.payment(&secret).await {
        Ok(Some(payment)) => payment,
        Ok(None) => return pages.not_found(),
        Err(error) => return pages.unavailable(&error),
    };
    let card = match card(body).await {
        Ok(card) => card,
        Err(problem) => return form(&pages, StatusCode::BAD_REQUEST, &payment, Some(problem)),
    };
    match sandbox.pay(&payment, card).await {
        Ok(Paid::Yes { event }) => {
            receive(&pages, event).await;
            paid(&pages, &payment)
        }
        Ok(Paid::Declined { event, failure }) => {
            receive(&pages, event).await;
            form(
                &pages,
                StatusCode::PAYMENT_REQUIRED,
                &payment,
                Some(&failure.message),
            )
        }
        Ok(Paid::Already) => paid(&pages, &payment),
        Ok(Paid::Cancelled) => cancelled(&pages, StatusCode::CONFLICT),
        Err(error) => pages.unavailable(&error),
    }
}

/// Handles the event right away, so that the payer sees the task move. If this fails, the job that
/// was queued with the event handles it.
pub(super) async fn receive(pages: &Pages, event: String) {
    let clock = pages.clock.clone();
    let received = pages
        .store
        .write(move |tx| usecases::receive_sandbox_event(tx, &event, clock.now()));
    if let Err(error) = received.await {
        tracing::warn!(%error, "sandbox event left to its job");
    }
}

/// The card named in the form. The card number is not stored.
async fn card(body: Body) -> Result<Card, &'static str> {
    let reading = axum::body::to_bytes(body, MAX_FORM_BYTES);
    let Ok(Ok(bytes)) = tokio::time::timeout(FORM_TIMEOUT, reading).await else {
        return Err("The form could not be read. Please try again.");
    };
    let mut fields = form_urlencoded::parse(&bytes);
    let number = fields.find(|(name, _)| name == "card");
    let (_, number) = number.ok_or("Please enter a card number.")?;
    Card::by_number(&number)
        .ok_or("This is not a sandbox card. Please use one of the numbers below.")
}

fn form(
    pages: &Pages,
    status: StatusCode,
    payment: &SandboxPayment,
    problem: Option<&str>,
) -> Response {
    let form = Form {
        banner: pages.banner(),
        amount: dollars(payment.amount_cents),
        problem,
    };
    page(status, &form)
}

fn paid(pages: &Pages, payment: &SandboxPayment) -> Response {
    let text = format!(
        "You paid {}. You can close this page.",
        dollars(payment.amount_cents)
    );
    pages.message(StatusCode::OK, "Thank you", &text)
}

fn cancelled(pages: &Pages, status: StatusCode) -> Response {
    let text = "The task was cancelled. There is nothing to pay.";
    pages.message(status, "Payment cancelled", text)
}

fn dollars(cents: i64) -> String {
    let whole = (cents / 100).to_string();
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("${grouped}.{:02}", cents % 100)
}

#[cfg(test)]
mod tests {
    use super::dollars;

    #[test]
    fn cents_are_shown_as_dollars() {
        assert_eq!(dollars(500), "$5.00");
        assert_eq!(dollars(123_456), "$1,234.56");
        assert_eq!(dollars(99_999_999), "$999,999.99");
    }
}
