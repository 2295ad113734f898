//! /v1/admin/report: the monthly report.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::api::App;
use crate::api::admin::query::ReportQuery;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::AdminCaller;
use crate::api::openapi::{groups, parameters};
use crate::api::response::json::JsonResponse;
use crate::domain::Environment;
use crate::domain::admin::report::{DayEntries, DayTasks, Month, MonthReport, ReportFormat};
use crate::usecases::month_report;
use crate::views::examples;

/// The month of the examples, without the days on which nothing happened.
fn example() -> Option<MonthReport> {
    let (month, story, day) = (Month::rule("2026-11").ok()?, examples::completed(), 14);
    let ledger = story.ledger();
    let entries = ledger.entries().iter().map(|entry| DayEntries {
        day,
        step: entry.step,
        sum: entry.postings,
    });
    let entries: Vec<_> = entries.collect();
    let tasks = [DayTasks { day, created: 1 }];
    let tasks_now = vec![(story.task.status, 1)];
    let escrow_cents = story.task.escrow_cents;
    let mut report = MonthReport::new(
        month,
        Environment::Live,
        &entries,
        &tasks,
        escrow_cents,
        tasks_now,
    );
    report.days.retain(|day| day.figures.tasks_created > 0);
    Some(report)
}

/// Get a monthly report
///
/// Money and tasks by day, in UTC and in cents.
#[utoipa::path(
    get, path = "/v1/admin/report", tag = "Admin", operation_id = "getReport",
    params(("month" = inline(parameters::Month), Query, description = "Such as `2026-11`"),
        ("environment" = inline(Option<Environment>), Query, description = "`live` when left out"),
        ("format" = inline(Option<ReportFormat>), Query, description = "`json` when left out")),
    responses((status = 200, description = "The report", content(
            (MonthReport = "application/json", example = json!(example())),
            (String = "text/csv", example = json!(example().map(|report| report.to_csv()))))),
        groups::Admin, groups::Query)
)]
pub async fn get(
    State(app): State<App>,
    _: AdminCaller,
    query: ReportQuery,
) -> Result<Response, ApiError> {
    let ReportQuery {
        month,
        environment,
        format,
    } = query;
    let report = app
        .store
        .snapshot(move |tx| month_report(tx, month, environment))
        .await?;
    match format {
        ReportFormat::Json => Ok(JsonResponse::ok(&report)?.into_response()),
        ReportFormat::Csv => {
            let name = format!("attachment; filename=\"legwork-{environment}-{month}.csv\"");
            let headers = [
                (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
                (header::CONTENT_DISPOSITION, name.as_str()),
                (header::CACHE_CONTROL, "no-store"),
            ];
            Ok((headers, report.to_csv()).into_response())
        }
    }
}
