//! /admin/workers

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::{After, Filter, Search, change, history, part, search, with_state};
use crate::api::inside::{Ask, Refused};
use crate::domain::{AdminRole, WorkerStatus};
use crate::pages::console::models::{Document, Line, Page, Worker};
use crate::pages::console::office::{Files, Names, Office, Place, done};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "console/workers.html")]
struct Workers {
    shell: Shell,
    form: Form,
    statuses: Vec<&'static str>,
    page: Page<Worker>,
    next: Option<String>,
}

pub async fn list(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let found = match search(&office, filter, "workers").await? {
        Search::Found(found) => found,
        Search::One(page) => return Ok(page),
    };
    let shown = Workers {
        shell: office.shell("Workers", Place::Workers),
        form: found.form,
        statuses: WorkerStatus::ALL.iter().map(|s| s.as_str()).collect(),
        page: found.page,
        next: found.next,
    };
    Ok(page(found.status, &shown))
}

#[derive(Template)]
#[template(path = "console/worker.html")]
struct WorkerPage {
    shell: Shell,
    form: Form,
    found: Found,
    lines: Vec<Line>,
    names: Names,
    files: Files,
    may_decide: bool,
    /// Where its forms are sent.
    action: String,
}

#[derive(Deserialize)]
struct Found {
    worker: Worker,
    verified_at: Option<String>,
    files: Vec<Document>,
}

/// Whoever may see documents looks at them here, so it is recorded.
pub async fn show(
    office: Office,
    Path(id): Path<String>,
    Query(after): Query<After>,
) -> Result<Response, Refused> {
    render(&office, &id, Form::new(), StatusCode::OK, &after.done).await
}

async fn render(
    office: &Office,
    id: &str,
    form: Form,
    status: StatusCode,
    word: &str,
) -> Result<Response, Refused> {
    let found: Found = office
        .ask(Ask::get(format!("/v1/admin/workers/{}", part(id))))
        .await?;
    let mut shell = office.shell(found.worker.name.clone(), Place::Workers);
    shell.notice = done(word);
    shell.scripts.push("console");
    let state = format!("The worker is {}.", found.worker.status);
    let form = with_state(form, status, &state);
    let shown = WorkerPage {
        lines: history(office, &found.worker.id).await?,
        names: office.names().await?,
        files: office.files(),
        may_decide: office.may(AdminRole::Operator),
        action: format!("/admin/workers/{}", found.worker.id),
        shell,
        form,
        found,
    };
    Ok(page(status, &shown))
}

pub async fn act(
    office: Office,
    Path((id, action)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let done = match action.as_str() {
        "suspend" => "worker-suspended",
        "restore" => "worker-restored",
        _ => return Err(Refused::not_found()),
    };
    let sent = change(&office, ("workers", &id, &action), &["note"], (form, done));
    match sent.await? {
        Ok(done) => Ok(done),
        Err((form, status)) => render(&office, &id, form, status, "").await,
    }
}
