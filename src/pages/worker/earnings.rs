//! /worker/earnings: what is on the balance, what waits for a review, and what was paid when.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::List;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::route::{PageRoute, view};
use crate::pages::kit::session::Needs;
use crate::pages::kit::words::dollars;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::{Earnings, OwnTask, Payout, day};
use crate::pages::worker::texts::Texts;
use crate::pages::worker::visit::Visit;

pub fn routes() -> Vec<PageRoute> {
    vec![
        view("/worker/earnings", Needs::Worker, get(show)),
        view("/worker/earnings.csv", Needs::Worker, get(csv)),
    ]
}

#[derive(Template)]
#[template(path = "worker/earnings.html")]
struct ShowEarnings {
    frame: Frame,
    form: Form,
    month: String,
    balance: String,
    paid: String,
    waiting: Vec<OwnTask>,
    payouts: Vec<Payout>,
    /// Of the month.
    total: String,
    /// Nothing was ever earned.
    is_new: bool,
}

impl ShowEarnings {
    fn state(&self, payout: &Payout) -> String {
        told(self.frame.t, payout)
    }

    fn has_failed(&self) -> bool {
        self.payouts.iter().any(Payout::has_failed)
    }

    /// What became of each part, if there are several. The badge alone would tell of the whole.
    fn parts(&self, payout: &Payout) -> Option<String> {
        let parts = [
            ("paid", payout.paid_cents),
            ("pending", payout.pending_cents),
            ("written_off", payout.written_off_cents),
        ];
        let parts = parts.into_iter().filter(|(_, cents)| *cents != 0);
        let told = parts.map(|(word, cents)| {
            let word = self.frame.t.word(word);
            format!("{word}: {}", dollars(cents))
        });
        let told: Vec<_> = told.collect();
        (told.len() > 1).then(|| told.join(" · "))
    }
}

/// `2026-11`, this month when the query names none.
fn month(visit: &Visit, form: &Form) -> String {
    let now = visit.now().to_string();
    match form.get("month").trim() {
        "" => now[..7].to_owned(),
        given => given.to_owned(),
    }
}

async fn of_month(visit: &Visit, month: &str) -> Result<Earnings, Refused> {
    let month: String = form_urlencoded::byte_serialize(month.as_bytes()).collect();
    let target = format!("/v1/worker/earnings?month={month}");
    visit.ask(Ask::get(target)).await
}

async fn show(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let mut form = Form::parse(query.unwrap_or_default().as_bytes());
    let mut month = month(&visit, &form);
    let mut status = StatusCode::OK;
    // Before the earnings: what is approved meanwhile is among both, not among neither.
    let tasks: List<OwnTask> = visit.ask(Ask::get("/v1/worker/tasks?limit=100")).await?;
    let tasks = tasks.data.into_iter();
    let waiting: Vec<_> = tasks.filter(|task| task.is("proof_submitted")).collect();
    let earnings = match of_month(&visit, &month).await {
        Ok(earnings) => earnings,
        Err(refused) if refused.status == StatusCode::BAD_REQUEST => {
            form = visit.refused(form, &refused, &["month"]);
            status = refused.status;
            month = visit.now().to_string()[..7].to_owned();
            of_month(&visit, &month).await?
        }
        Err(refused) => return Err(refused),
    };
    let total = earnings
        .payouts
        .iter()
        .map(|payout| payout.amount_cents)
        .sum::<i64>();
    if status == StatusCode::OK {
        form = Form::with([("month", month.clone())]);
    }
    let shown = ShowEarnings {
        frame: visit.frame(visit.t.earnings.title, Place::Earnings),
        balance: dollars(earnings.balance_cents),
        paid: dollars(earnings.paid_cents),
        is_new: earnings.balance_cents == 0 && earnings.paid_cents == 0 && waiting.is_empty(),
        payouts: earnings.payouts,
        total: dollars(total),
        month,
        waiting,
        form,
    };
    Ok(page(status, &shown))
}

/// When it arrives, or why it does not.
fn told(t: &Texts, payout: &Payout) -> String {
    let t = &t.earnings;
    match (payout.status.as_str(), payout.held_reason.as_deref()) {
        ("paid", _) => t
            .arrived
            .with(day(payout.paid_at.as_deref().unwrap_or(&payout.created_at))),
        ("written_off", _) => t.written_off.to_owned(),
        ("failed", _) => t.failed.to_owned(),
        ("held", Some("charge_disputed")) => t.held_disputed.to_owned(),
        ("held", Some("worker_suspended")) => t.held_suspended.to_owned(),
        _ => match payout.available_at.as_deref() {
            Some(at) => t.arrives.with(day(at)),
            None => t.on_its_way.to_owned(),
        },
    }
}

const CSV_HEAD: &str =
    "earned_at,paid_at,status,amount,currency,task_id,title,paid,pending,written_off\r\n";

fn amount(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// For a worker's own books. Amounts are in dollars, with a point.
async fn csv(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let form = Form::parse(query.unwrap_or_default().as_bytes());
    let month = month(&visit, &form);
    let earnings = of_month(&visit, &month).await?;
    let mut text = CSV_HEAD.to_owned();
    for payout in earnings.payouts.iter().rev() {
        let paid_at = payout.paid_at.as_deref().unwrap_or_default();
        let row = [
            payout.created_at.as_str(),
            paid_at,
            &payout.status,
            &amount(payout.amount_cents),
            "USD",
            &payout.task_id,
            &quoted(&payout.title),
            &amount(payout.paid_cents),
            &amount(payout.pending_cents),
            &amount(payout.written_off_cents),
        ];
        text.push_str(&row.join(","));
        text.push_str("\r\n");
    }
    let name = format!("attachment; filename=\"legwork-{month}.csv\"");
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, text).into_response())
}

/// A text of somebody else in a cell: no spreadsheet takes it for a formula.
fn quoted(text: &str) -> String {
    let guard = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => "'",
        false => "",
    };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_cell_is_no_formula_and_stays_one_cell() {
        assert_eq!(quoted("a \"b\", c"), "\"a \"\"b\"\", c\"");
        assert_eq!(quoted("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
    }
}
