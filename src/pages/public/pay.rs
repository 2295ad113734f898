//! /pay/{client_secret}: the payment page of the sandbox processor.

use askama::Template;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use crate::domain::{PaymentStatus, Status, Task, TaskLedger, Timestamp};
use crate::pages::kit::form;
use crate::pages::kit::html::{message_with, no_sandbox, not_found, page, unavailable};
use crate::pages::kit::session::{DEVELOPER_COOKIE, token_in};
use crate::pages::kit::words::dollars;
use crate::pages::state::Pages;
use crate::payments::ProcessorError;
use crate::payments::sandbox::{Card, Paid};
use crate::store::{SandboxPayment, StoreError};
use crate::usecases;

#[derive(Template)]
#[template(path = "public/pay.html")]
struct Form<'a> {
    banner: bool,
    amount: String,
    title: &'a str,
    problem: Option<&'a str>,
}

/// How a payment stands, for whoever pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    ToPay,
    /// The stored payment method is being charged.
    Waiting,
    Paid,
    /// Paid, and this much goes back or has gone back.
    Refunded {
        cents: i64,
        pending: bool,
    },
    /// The task ended without a payment, or its deadline has passed.
    Over,
}

/// A payment, its task, and how it stands.
struct Bill {
    payment: SandboxPayment,
    title: String,
    standing: Standing,
    /// The page of the task, for a browser in which a developer is signed in. Others may pay too.
    task_page: Option<String>,
}

impl Bill {
    fn of(
        payment: SandboxPayment,
        (task, charge): (&Task, Option<PaymentStatus>),
        ledger: &TaskLedger,
        now: Timestamp,
    ) -> Self {
        let (sent, owed) = (ledger.refunded_cents(), ledger.owed_refund_cents());
        let standing = match payment.status {
            PaymentStatus::Succeeded if sent + owed > 0 => Standing::Refunded {
                cents: sent + owed,
                pending: owed > 0,
            },
            PaymentStatus::Succeeded => Standing::Paid,
            PaymentStatus::Cancelled => Standing::Over,
            _ if task.status != Status::Pending || task.is_overdue(now) => Standing::Over,
            _ if charge == Some(PaymentStatus::Processing) => Standing::Waiting,
            _ => Standing::ToPay,
        };
        Self {
            payment,
            title: task.title.clone(),
            standing,
            task_page: None,
        }
    }

    fn amount(&self) -> String {
        dollars(self.payment.amount_cents)
    }
}

pub async fn show(
    State(pages): State<Pages>,
    Path(secret): Path<String>,
    headers: HeaderMap,
) -> Response {
    if pages.app.payments.sandbox.is_none() {
        return no_sandbox(&pages);
    }
    match bill(&pages, &secret, &headers).await {
        Ok(Some(bill)) => present(&pages, &bill, StatusCode::OK),
        Ok(None) => not_found(&pages),
        Err(error) => unavailable(&pages, &error),
    }
}

pub async fn pay(
    State(pages): State<Pages>,
    Path(secret): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let Some(sandbox) = &pages.app.payments.sandbox else {
        return no_sandbox(&pages);
    };
    let bill = match bill(&pages, &secret, &headers).await {
        Ok(Some(bill)) => bill,
        Ok(None) => return not_found(&pages),
        Err(error) => return unavailable(&pages, &error),
    };
    let card = match card(request).await {
        Ok(card) => card,
        Err(problem) => return show_form(&pages, StatusCode::BAD_REQUEST, &bill, Some(problem)),
    };
    if matches!(bill.standing, Standing::Over | Standing::Waiting) {
        return present(&pages, &bill, StatusCode::CONFLICT);
    }
    match sandbox.pay(&bill.payment, card).await {
        Ok(Paid::Yes { event }) => {
            receive(&pages, event).await;
            paid(&pages, &secret, &headers).await
        }
        Ok(Paid::Declined { event, failure }) => {
            receive(&pages, event).await;
            let problem = Some(failure.message.as_str());
            show_form(&pages, StatusCode::PAYMENT_REQUIRED, &bill, problem)
        }
        Ok(Paid::Already) => paid(&pages, &secret, &headers).await,
        Ok(Paid::Cancelled) => over(&pages, StatusCode::CONFLICT, &bill),
        Err(error) => unavailable(&pages, &error),
    }
}

/// The payment with this secret, as it stands now.
async fn bill(
    pages: &Pages,
    secret: &str,
    headers: &HeaderMap,
) -> Result<Option<Bill>, ProcessorError> {
    let Some(sandbox) = &pages.app.payments.sandbox else {
        return Ok(None);
    };
    let Some(SandboxPayment { id, task, .. }) = sandbox.payment(secret).await? else {
        return Ok(None);
    };
    let now = pages.app.clock.now();
    // The payment once more: a task that was paid for meanwhile is not one that is over.
    let read = pages.app.store.snapshot(move |tx| {
        let payment = tx.sandbox_payment(&id)?;
        let charge = tx.payment(task)?.map(|payment| payment.status);
        let task_and_payment = tx.any_task(task)?.zip(payment);
        Ok::<_, StoreError>((task_and_payment, charge, tx.ledger_of_task(task)?))
    });
    let (found, charge, ledger) = read.await?;
    // A payment is created before its task. One whose task was refused has a secret that nobody got.
    let is_developer = token_in(headers, DEVELOPER_COOKIE).is_some();
    Ok(found.map(|(task, payment)| Bill {
        task_page: is_developer.then(|| format!("/dashboard/live/tasks/{}", task.id)),
        ..Bill::of(payment, (&task, charge), &ledger, now)
    }))
}

/// What a payment that was made has come to.
async fn paid(pages: &Pages, secret: &str, headers: &HeaderMap) -> Response {
    match bill(pages, secret, headers).await {
        Ok(Some(bill)) => present(pages, &bill, StatusCode::OK),
        Ok(None) => not_found(pages),
        Err(error) => unavailable(pages, &error),
    }
}

fn present(pages: &Pages, bill: &Bill, status: StatusCode) -> Response {
    let (amount, title) = (bill.amount(), &bill.title);
    match bill.standing {
        Standing::ToPay => show_form(pages, status, bill, None),
        Standing::Over => over(pages, status, bill),
        Standing::Waiting => {
            let text = format!(
                "The payment of {amount} to Legwork for “{title}” is being made. Reload this page in a moment."
            );
            told(pages, status, bill, ("Please wait", &text))
        }
        Standing::Paid => {
            let text = format!("You paid {amount} to Legwork for “{title}”.");
            told(pages, status, bill, ("Thank you", &text))
        }
        Standing::Refunded { cents, pending } => {
            let cents = dollars(cents);
            let goes = match pending {
                true => format!("{cents} of it are on their way back to you"),
                false => format!("{cents} of it were refunded to you"),
            };
            let text = format!("You paid {amount} to Legwork for “{title}”. {goes}.");
            told(pages, status, bill, ("Refunded", &text))
        }
    }
}

/// Handles the event right away, so that the payer sees the task move. If this fails, the job that
/// was queued with the event handles it.
pub(super) async fn receive(pages: &Pages, event: String) {
    let clock = pages.app.clock.clone();
    let received = pages
        .app
        .store
        .write(move |tx| usecases::receive_sandbox_event(tx, &event, clock.now()));
    if let Err(error) = received.await {
        tracing::warn!(%error, "sandbox event left to its job");
    }
}

/// The card named in the form. The card number is not stored.
async fn card(request: Request) -> Result<Card, &'static str> {
    let fields = form_fields(request).await;
    let fields = fields.ok_or("The form could not be read. Please try again.")?;
    let number = fields.iter().find(|(name, _)| name == "card");
    let (_, number) = number.ok_or("Please enter a card number.")?;
    Card::by_number(number)
        .ok_or("This is not a sandbox card. Please use one of the numbers below.")
}

/// The fields of a form, if it comes in time and is not too long.
pub(super) async fn form_fields(request: Request) -> Option<Vec<(String, String)>> {
    let (parts, body) = request.into_parts();
    let bytes = form::read(&parts.extensions, body).await.ok()?;
    Some(form_urlencoded::parse(&bytes).into_owned().collect())
}

fn show_form(pages: &Pages, status: StatusCode, bill: &Bill, problem: Option<&str>) -> Response {
    let shown = Form {
        banner: pages.banner(),
        amount: bill.amount(),
        title: &bill.title,
        problem,
    };
    page(status, &shown)
}

fn over(pages: &Pages, status: StatusCode, bill: &Bill) -> Response {
    let title = &bill.title;
    let text = format!("“{title}” was cancelled or its time is over. There is nothing to pay.");
    told(pages, status, bill, ("Nothing to pay", &text))
}

/// One thing, and the way back to the task for whoever came from it.
fn told(pages: &Pages, status: StatusCode, bill: &Bill, said: (&str, &str)) -> Response {
    let back = bill
        .task_page
        .as_deref()
        .map(|page| (page, "Go to the task"));
    message_with(pages, status, said, back.as_slice())
}
