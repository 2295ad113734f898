//! /admin/tasks

use std::collections::HashMap;
use std::time::Duration;

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::{is_id, part};
use crate::api::inside::{Ask, Refused};
use crate::domain::Status;
use crate::pages::console::models::{Entry, Move, Page, Payment, Proof, Task};
use crate::pages::console::office::{Files, Names, Office, Place, query};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::When;

#[derive(Template)]
#[template(path = "console/tasks.html")]
struct Tasks {
    shell: Shell,
    form: Form,
    statuses: Vec<&'static str>,
    page: Page<Task>,
    next: Option<String>,
    /// How far the clocks of tests are ahead, by account.
    ahead: HashMap<String, Duration>,
}

impl Tasks {
    fn created(&self, task: &Task) -> When {
        let ahead = self.ahead.get(&task.developer_id);
        let ahead = ahead.filter(|_| task.is_test()).copied();
        let now = self.shell.real_now.plus(ahead.unwrap_or_default());
        self.shell.by(&task.created_at, now)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Filter {
    q: String,
    account_id: String,
    environment: String,
    status: String,
    cursor: String,
}

pub async fn list(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let q = filter.q.trim();
    if is_id(q) {
        return Ok(Redirect::to(&format!("/admin/tasks/{q}")).into_response());
    }
    let kept = [
        ("account_id", filter.account_id.trim()),
        ("environment", &filter.environment),
        ("status", &filter.status),
    ];
    let target = kept.into_iter().chain([("cursor", filter.cursor.as_str())]);
    let mut form = Form::with([
        ("q", filter.q.clone()),
        ("account_id", filter.account_id.clone()),
        ("environment", filter.environment.clone()),
        ("status", filter.status.clone()),
    ]);
    if !q.is_empty() {
        form.add_fault("q", "Enter the ID of a task.");
    }
    let found = office.ask(Ask::get(query("/v1/admin/tasks", target))).await;
    let (status, found): (_, Page<Task>) = match found {
        Ok(found) => (StatusCode::OK, found),
        Err(refused) if refused.status == StatusCode::BAD_REQUEST => {
            form = form.refused(&refused, &["account_id", "environment", "status"]);
            (refused.status, Page::empty())
        }
        Err(refused) => return Err(refused),
    };
    let next = found.next("/admin/tasks", &kept);
    let ahead = office
        .test_clocks(Task::accounts_in_test(&found.data))
        .await?;
    let shown = Tasks {
        shell: office.shell("Tasks", Place::Tasks),
        form,
        statuses: Status::ALL.iter().map(|status| status.as_str()).collect(),
        page: found,
        next,
        ahead,
    };
    Ok(page(status, &shown))
}

#[derive(Template)]
#[template(path = "console/task.html")]
struct TaskPage {
    shell: Shell,
    found: Found,
    proofs: Vec<Proof>,
    names: Names,
    files: Files,
    map: Option<String>,
}

#[derive(Deserialize)]
struct Found {
    task: Task,
    payment: Payment,
    ledger: Vec<Entry>,
    history: Vec<Move>,
}

#[derive(Deserialize)]
struct Proofs {
    data: Vec<Proof>,
}

pub async fn show(office: Office, Path(id): Path<String>) -> Result<Response, Refused> {
    let target = format!("/v1/admin/tasks/{}", part(&id));
    let found: Found = office.ask(Ask::get(&target)).await?;
    let proofs: Proofs = office
        .ask(Ask::get(format!("{target}/proofs?limit=100")))
        .await?;
    let mut shell = office.shell(found.task.title.clone(), Place::Tasks);
    shell.scripts.push("console");
    // Everything on the page of a test task goes by the clock of its tests.
    let clocks = office
        .test_clocks(Task::accounts_in_test(std::slice::from_ref(&found.task)))
        .await?;
    shell.now = shell
        .now
        .plus(clocks.into_values().next().unwrap_or_default());
    let tiles = office.pages.tiles();
    Ok(ok(&TaskPage {
        map: found.task.map(&proofs.data, None, tiles),
        names: office.names().await?,
        files: office.files(),
        proofs: proofs.data,
        shell,
        found,
    }))
}
