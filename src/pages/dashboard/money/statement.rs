//! The statement of a month: its tasks with their money, to print or as CSV.

use askama::Template;
use axum::body::Body;
use axum::extract::RawQuery;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use futures_util::{StreamExt, TryStreamExt};

use super::month::{Month, Page};
use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::models::{Payment, TaskItem};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::ok;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::segment;

/// More are in the CSV file.
const PRINTED: usize = 500;
/// Payments that are asked for together: the database looks several up at once.
const AT_A_TIME: usize = 8;
const HEAD: &str = "created_at,task_id,title,status,budget_cents,charged_cents,escrow_cents,refunded_cents,worker_cents,platform_fee_cents\r\n";

#[derive(Template)]
#[template(path = "dashboard/money/statement.html")]
struct Statement {
    shell: Shell,
    base: String,
    month: Month,
    account: String,
    /// The day on which it is printed.
    as_of: String,
    lines: Vec<Line>,
    total: Money,
    is_cut: bool,
}

/// A task with its money, as it stands now.
struct Line {
    task: TaskItem,
    money: Money,
}

#[derive(Clone, Copy, Default)]
struct Money {
    charged: i64,
    escrow: i64,
    refunded: i64,
    worker: i64,
    fee: i64,
}

impl Money {
    fn of(payment: &Payment) -> Self {
        let payout = payment.payout.as_ref();
        let (escrow, refunded) = (
            payment.escrow_cents,
            payment.refunded_cents + payment.refund_pending_cents,
        );
        let worker = payout.map_or(0, |payout| payout.amount_cents);
        let fee = payout.map_or(0, |payout| payout.platform_fee_cents);
        Self {
            // What was charged is somewhere.
            charged: escrow + refunded + worker + fee,
            escrow,
            refunded,
            worker,
            fee,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            charged: self.charged + other.charged,
            escrow: self.escrow + other.escrow,
            refunded: self.refunded + other.refunded,
            worker: self.worker + other.worker,
            fee: self.fee + other.fee,
        }
    }
}

impl Line {
    fn csv(&self) -> String {
        let (task, money) = (&self.task, &self.money);
        let amounts = [
            task.budget_cents,
            money.charged,
            money.escrow,
            money.refunded,
            money.worker,
            money.fee,
        ];
        let amounts: Vec<_> = amounts.iter().map(i64::to_string).collect();
        format!(
            "{},{},{},{},{}\r\n",
            task.created_at,
            task.id,
            cell(&task.title),
            task.status,
            amounts.join(",")
        )
    }
}

/// A text in CSV. What a program would take for a formula is none.
fn cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let mark = if formula { "'" } else { "" };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let month = asked(&desk, query)?;
    let (mut lines, mut next) = read(&desk, &month, None).await?;
    while let Some(cursor) = next.take_if(|_| lines.len() < PRINTED) {
        let (more, after) = read(&desk, &month, Some(&cursor)).await?;
        lines.extend(more);
        next = after;
    }
    let total = lines
        .iter()
        .fold(Money::default(), |sum, line| sum.plus(line.money));
    Ok(ok(&Statement {
        shell: desk.shell(format!("Statement {month}"), Place::Usage),
        base: desk.path(""),
        account: desk.visitor.account.email.clone(),
        as_of: desk.now().to_string().chars().take(10).collect(),
        is_cut: next.is_some(),
        month,
        lines,
        total,
    }))
}

/// What the tasks of this month have cost, and what waits in escrow for those that are not over.
pub struct SoFar {
    pub spent_cents: i64,
    pub held_cents: i64,
    /// Only the newest tasks are counted: there are more than one page of them.
    pub is_cut: bool,
}

pub async fn so_far(desk: &Desk) -> Result<SoFar, Refused> {
    let (lines, next) = read(desk, &Month::of(desk.now()), None).await?;
    let total = lines
        .iter()
        .fold(Money::default(), |sum, line| sum.plus(line.money));
    Ok(SoFar {
        spent_cents: total.worker + total.fee,
        held_cents: total.escrow,
        is_cut: next.is_some(),
    })
}

/// Another form would have sent it: nobody types this address.
fn asked(desk: &Desk, query: Option<String>) -> Result<Month, Refused> {
    let form = Form::parse(query.unwrap_or_default().as_bytes());
    Month::asked(&form, desk.now()).map_err(|_| Refused::not_found())
}

async fn read(
    desk: &Desk,
    month: &Month,
    cursor: Option<&str>,
) -> Result<(Vec<Line>, Option<String>), Refused> {
    let (tasks, next): Page = month.tasks(desk, cursor).await?;
    let lines = stream::iter(tasks).map(|task| async move {
        let payment = Ask::get(format!("/v1/tasks/{}/payment", segment(&task.id)));
        let payment: Payment = desk.ask(payment).await?;
        let money = Money::of(&payment);
        Ok::<_, Refused>(Line { task, money })
    });
    let lines = lines.buffered(AT_A_TIME).try_collect().await?;
    Ok((lines, next))
}

/// All of it, written while it is read.
pub async fn csv(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let month = asked(&desk, query)?;
    let name = format!(
        "attachment; filename=\"legwork-{}-{month}.csv\"",
        desk.environment
    );
    let first = read(&desk, &month, None).await?;
    let begun = (desk, month, Some((HEAD.to_owned(), first)));
    let text = stream::try_unfold(begun, |(desk, month, page)| async move {
        let Some((mut text, (lines, next))) = page else {
            return Ok(None);
        };
        lines.iter().for_each(|line| text.push_str(&line.csv()));
        let following = match &next {
            Some(cursor) => {
                let read = read(&desk, &month, Some(cursor)).await;
                let read = read.map_err(|refused| std::io::Error::other(refused.message))?;
                Some((String::new(), read))
            }
            None => None,
        };
        Ok::<_, std::io::Error>(Some((text, (desk, month, following))))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, Body::from_stream(text)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_or_ends_early() {
        assert_eq!(cell("Say \"hi\", please"), "\"Say \"\"hi\"\", please\"");
        assert_eq!(cell("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
        assert_eq!(cell("@a"), "\"'@a\"");
    }
}
