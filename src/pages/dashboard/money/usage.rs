//! Limits, and the month day by day.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::month::Month;
use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::models::TaskItem;
use crate::pages::kit::bars::{Bar, bars};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::dollars;

/// The chart counts as many tasks as this. A statement has all of them.
const MOST_TASKS: usize = 2_000;

#[derive(Template)]
#[template(path = "dashboard/money/usage.html")]
struct ShowUsage {
    shell: Shell,
    base: String,
    usage: Usage,
    form: Form,
    month: Month,
    days: Vec<Day>,
    chart: String,
    is_cut: bool,
    tasks: i64,
    budget_cents: i64,
}

#[derive(Deserialize)]
struct Usage {
    tier: String,
    tasks_this_month: i64,
    tasks_limit: i64,
    api_keys_count: i64,
}

impl Usage {
    fn percent(&self) -> i64 {
        (self.tasks_this_month * 100 / self.tasks_limit.max(1)).clamp(0, 100)
    }
}

#[derive(Clone, Default)]
struct Day {
    number: usize,
    tasks: i64,
    budget_cents: i64,
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let mut form = Form::parse(query.unwrap_or_default().as_bytes());
    let (month, status) = match Month::asked(&form, desk.now()) {
        Ok(month) => {
            // What is shown, also where nothing was asked for.
            form = Form::with([("month", month.to_string())]);
            (month, StatusCode::OK)
        }
        Err(fault) => {
            form.add_fault("month", fault.message);
            (Month::of(desk.now()), StatusCode::BAD_REQUEST)
        }
    };
    let (tasks, is_cut) = tasks_of(&desk, &month).await?;
    let days = by_day(&month, &tasks);
    let bar = |day: &Day| Bar {
        label: format!("{:02}", day.number),
        value: day.budget_cents,
        shown: dollars(day.budget_cents),
    };
    let all: Vec<_> = days.iter().map(bar).collect();
    let template = ShowUsage {
        shell: desk.shell("Usage", Place::Usage),
        base: desk.path(""),
        usage: desk.ask(Ask::get("/v1/account/usage")).await?,
        chart: bars("Budgets of the tasks created on each day", &all),
        tasks: days.iter().map(|day| day.tasks).sum(),
        budget_cents: days.iter().map(|day| day.budget_cents).sum(),
        days: days.into_iter().filter(|day| day.tasks > 0).collect(),
        is_cut,
        month,
        form,
    };
    Ok(page(status, &template))
}

/// The tasks of a month, and whether there are more.
async fn tasks_of(desk: &Desk, month: &Month) -> Result<(Vec<TaskItem>, bool), Refused> {
    let (mut tasks, mut next) = month.tasks(desk, None).await?;
    while let Some(cursor) = next.take_if(|_| tasks.len() < MOST_TASKS) {
        let (more, after) = month.tasks(desk, Some(&cursor)).await?;
        tasks.extend(more);
        next = after;
    }
    Ok((tasks, next.is_some()))
}

fn by_day(month: &Month, tasks: &[TaskItem]) -> Vec<Day> {
    let mut days: Vec<Day> = (1..=month.days())
        .map(|number| Day {
            number,
            ..Day::default()
        })
        .collect();
    for task in tasks {
        let number = task
            .created_at
            .get(8..10)
            .and_then(|day| day.parse::<usize>().ok());
        if let Some(day) = number.and_then(|number| days.get_mut(number.wrapping_sub(1))) {
            day.tasks += 1;
            day.budget_cents += task.budget_cents;
        }
    }
    days
}
