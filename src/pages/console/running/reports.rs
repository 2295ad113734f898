//! /admin/reports: the books of a month.

use askama::Template;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::api::inside::{Ask, Refused};
use crate::pages::console::models::{Day, Figures};
use crate::pages::console::office::{Office, Place, query};
use crate::pages::kit::bars::{Bar, bars};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::dollars;

#[derive(Template)]
#[template(path = "console/reports.html")]
struct Reports {
    shell: Shell,
    form: Form,
    report: Option<Report>,
    chart: String,
    csv: String,
}

#[derive(Deserialize)]
struct Report {
    month: String,
    environment: String,
    escrow_at_start_cents: i64,
    days: Vec<Day>,
    total: Figures,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Filter {
    month: String,
    environment: String,
}

impl Filter {
    /// This month, unless another is asked for.
    fn month(&self, office: &Office) -> String {
        match self.month.trim() {
            "" => office.now().to_string().chars().take(7).collect(),
            month => month.to_owned(),
        }
    }
}

pub async fn show(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let month = filter.month(&office);
    let wanted = [
        ("month", month.as_str()),
        ("environment", &filter.environment),
    ];
    let mut form = Form::with([
        ("month", month.clone()),
        ("environment", filter.environment.clone()),
    ]);
    let found = office
        .ask(Ask::get(query("/v1/admin/report", wanted)))
        .await;
    let (status, report): (_, Option<Report>) = match found {
        Ok(report) => (StatusCode::OK, Some(report)),
        Err(refused) if refused.status == StatusCode::BAD_REQUEST => {
            form = form.refused(&refused, &["month", "environment"]);
            (refused.status, None)
        }
        Err(refused) => return Err(refused),
    };
    let shown = Reports {
        shell: office.shell("Reports", Place::Reports),
        csv: query("/admin/reports.csv", wanted),
        chart: report.as_ref().map(chart).unwrap_or_default(),
        form,
        report,
    };
    Ok(page(status, &shown))
}

fn chart(report: &Report) -> String {
    let bar = |day: &Day| Bar {
        label: day.date.get(8..).unwrap_or_default().to_owned(),
        value: day.figures.paid_in_cents,
        shown: dollars(day.figures.paid_in_cents),
    };
    let all: Vec<_> = report.days.iter().map(bar).collect();
    bars(&format!("Paid in by day in {}", report.month), &all)
}

/// The file of the API, under the cookie of the console.
pub async fn csv(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let month = filter.month(&office);
    let wanted = [
        ("month", month.as_str()),
        ("environment", &filter.environment),
        ("format", "csv"),
    ];
    office
        .response(Ask::get(query("/v1/admin/report", wanted)))
        .await
}
