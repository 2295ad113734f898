//! /admin/workers

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::Value;

use super::{history, is_id, part};
use crate::api::inside::{Ask, Refused};
use crate::domain::{AdminRole, WorkerStatus};
use crate::pages::console::models::{Document, Line, Page, Worker};
use crate::pages::console::office::{Files, Names, Office, Place, done, query};
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

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Filter {
    q: String,
    status: String,
    cursor: String,
}

pub async fn list(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let q = filter.q.trim();
    if is_id(q) {
        return Ok(Redirect::to(&format!("/admin/workers/{q}")).into_response());
    }
    let target = [
        ("email", q),
        ("status", filter.status.as_str()),
        ("cursor", &filter.cursor),
    ];
    let mut form = Form::with([("q", filter.q.clone()), ("status", filter.status.clone())]);
    let found = office
        .ask(Ask::get(query("/v1/admin/workers", target)))
        .await;
    let (status, found): (_, Page<Worker>) = match found {
        Ok(found) => (StatusCode::OK, found),
        Err(refused) if refused.status == StatusCode::BAD_REQUEST => {
            form.add_fault("q", "Enter a whole e-mail address, or an ID.");
            (refused.status, Page::empty())
        }
        Err(refused) => return Err(refused),
    };
    let next = found.next("/admin/workers", &[("q", q), ("status", &filter.status)]);
    let shown = Workers {
        shell: office.shell("Workers", Place::Workers),
        form,
        statuses: WorkerStatus::ALL.iter().map(|s| s.as_str()).collect(),
        page: found,
        next,
    };
    Ok(page(status, &shown))
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
}

#[derive(Deserialize)]
struct Found {
    worker: Worker,
    verified_at: Option<String>,
    files: Vec<Document>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct After {
    done: String,
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
    mut form: Form,
    status: StatusCode,
    word: &str,
) -> Result<Response, Refused> {
    let found: Found = office
        .ask(Ask::get(format!("/v1/admin/workers/{}", part(id))))
        .await?;
    let mut shell = office.shell(found.worker.name.clone(), Place::Workers);
    shell.notice = done(word);
    shell.scripts = vec!["console"];
    if status == StatusCode::CONFLICT {
        let state = &found.worker.status;
        form.problem = form
            .problem
            .map(|problem| format!("{problem} The worker is {state}."));
    }
    let shown = WorkerPage {
        lines: history(office, &found.worker.id).await?,
        names: office.names().await?,
        files: office.files(),
        may_decide: office.may(AdminRole::Operator),
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
    let target = format!("/v1/admin/workers/{}/{action}", part(&id));
    let ask = Ask::post(target, Value::Object(form.texts(&["note"]))).once(form.key());
    match office.ask::<Value>(ask).await {
        Ok(_) => {
            Ok(Redirect::to(&format!("/admin/workers/{}?done={done}", part(&id))).into_response())
        }
        Err(refused) if refused.status.is_server_error() => Err(refused),
        Err(refused) if refused.status == StatusCode::NOT_FOUND => Err(refused),
        Err(refused) => {
            let form = form.refused(&refused, &["note"]);
            render(&office, &id, form, refused.status, "").await
        }
    }
}
