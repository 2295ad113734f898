//! Tasks of limited keys that wait for a person's yes.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::inside::{Ask, Refused};
use crate::domain::tasks::approval::ApprovalStatus;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::events;
use crate::pages::dashboard::keys::{KeyList, key_names};
use crate::pages::dashboard::models::{Actor, List, Task};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::segment;

/// As many as the API lists on a page. More are told as "100 or more".
pub const COUNTED: usize = 100;

#[derive(Template)]
#[template(path = "dashboard/approvals.html")]
struct Approvals {
    shell: Shell,
    base: String,
    latest: String,
    filters: Form,
    statuses: Vec<&'static str>,
    approvals: Vec<Shown>,
    older: Option<String>,
}

#[derive(Deserialize)]
pub struct Approval {
    pub task_id: String,
    pub status: String,
    key_id: String,
    budget_cents: i64,
    pub expires_at: String,
    decided_by: Option<Actor>,
    decided_at: Option<String>,
    created_at: String,
}

impl Approval {
    pub fn waits(&self) -> bool {
        self.status == "waiting"
    }
}

/// An approval, with the task and the key that it is about.
struct Shown {
    approval: Approval,
    task: Task,
    key: String,
    approve: Form,
    refuse: Form,
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let filters = Form::parse(query.unwrap_or_default().as_bytes());
    let notice = notice(&desk, filters.get("done"), filters.get("of")).await?;
    shown(&desk, filters, StatusCode::OK, notice).await
}

async fn shown(
    desk: &Desk,
    filters: Form,
    status: StatusCode,
    notice: Option<&'static str>,
) -> Result<Response, Refused> {
    let latest = events::latest(desk).await?;
    let found: List<Approval> = desk.ask(Ask::get(target(&filters))).await?;
    let keys: KeyList = desk.ask(Ask::get("/v1/account/keys")).await?;
    let names = key_names(keys);
    let mut approvals = Vec::new();
    for approval in found.data {
        let task = Ask::get(format!("/v1/tasks/{}", segment(&approval.task_id)));
        let name = names.get(&approval.key_id);
        approvals.push(Shown {
            task: desk.ask(task).await?,
            key: name.unwrap_or(&approval.key_id).clone(),
            approval,
            approve: Form::new(),
            refuse: Form::new(),
        });
    }
    let cursor = found.meta.next_cursor;
    let shell = desk.shell("Approvals", Place::Approvals).notice(notice);
    let template = Approvals {
        shell: shell.kept_up_to_date(status),
        base: desk.path(""),
        latest,
        older: cursor.map(|cursor| older(desk, &filters, &cursor)),
        statuses: ApprovalStatus::ALL.iter().map(|one| one.as_str()).collect(),
        approvals,
        filters,
    };
    Ok(page(status, &template))
}

/// What waits is shown first: it is why people come.
fn target(filters: &Form) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", "25");
    let status = match filters.get("status") {
        "" => "waiting",
        status => status,
    };
    if status != "all" {
        query.append_pair("status", status);
    }
    if !filters.get("cursor").is_empty() {
        query.append_pair("cursor", filters.get("cursor"));
    }
    format!("/v1/approvals?{}", query.finish())
}

fn older(desk: &Desk, filters: &Form, cursor: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if !filters.get("status").is_empty() {
        query.append_pair("status", filters.get("status"));
    }
    query.append_pair("cursor", cursor);
    format!("{}?{}", desk.path("/approvals"), query.finish())
}

/// What was just decided, if the task `of` which it is said agrees.
async fn notice(desk: &Desk, done: &str, of: &str) -> Result<Option<&'static str>, Refused> {
    let told = match done {
        "approved" => "You have approved the task. It is paid for as if you had created it.",
        "refused" => "You have refused the task. It is cancelled, and nothing was charged.",
        _ => return Ok(None),
    };
    match of_task(desk, of).await {
        Ok(approval) => Ok(approval
            .filter(|approval| approval.status == done)
            .map(|_| told)),
        Err(refused) if refused.status == StatusCode::NOT_FOUND => Ok(None),
        Err(refused) => Err(refused),
    }
}

pub async fn approve(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    decide(&desk, &id, form, ("approve", "approved")).await
}

pub async fn refuse(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    decide(&desk, &id, form, ("refuse", "refused")).await
}

async fn decide(
    desk: &Desk,
    id: &str,
    form: Form,
    (action, done): (&str, &str),
) -> Result<Response, Refused> {
    let path = format!("/v1/tasks/{}/approval/{action}", segment(id));
    let ask = Ask::post(path, Value::Object(Map::new())).once(form.key());
    match desk.ask::<Value>(ask).await {
        Ok(_) => {
            let back = desk.path(&format!("/approvals?done={done}&of={}", segment(id)));
            Ok(Redirect::to(&back).into_response())
        }
        // Somebody else was faster, or the account may not agree yet: the list says how things stand.
        Err(refused) if refused.status.is_client_error() && refused.status != 404 => {
            let filters = Form::default().refused(&refused, &[]);
            shown(desk, filters, refused.status, None).await
        }
        Err(refused) => Err(refused),
    }
}

/// How many tasks wait for a yes, up to `COUNTED`.
pub async fn waiting(desk: &Desk) -> Result<i64, Refused> {
    let target = format!("/v1/approvals?status=waiting&limit={COUNTED}");
    let found: List<Approval> = desk.ask(Ask::get(target)).await?;
    Ok(found.data.len() as i64)
}

/// The approval that a task waits for or has waited for.
pub async fn of_task(desk: &Desk, id: &str) -> Result<Option<Approval>, Refused> {
    let ask = Ask::get(format!("/v1/tasks/{}/approval", segment(id)));
    match desk.ask(ask).await {
        Ok(approval) => Ok(Some(approval)),
        Err(refused) if refused.is("APPROVAL_NOT_FOUND") => Ok(None),
        Err(refused) => Err(refused),
    }
}
