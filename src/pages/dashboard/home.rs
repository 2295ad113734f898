//! What waits for the developer, the month so far, and what happened last.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::json;

use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::approvals;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::events::Event;
use crate::pages::dashboard::models::{List, TaskItem};
use crate::pages::dashboard::money::{SoFar, so_far};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "dashboard/home.html")]
struct Home {
    shell: Shell,
    base: String,
    latest: String,
    usage: Usage,
    /// Tasks of limited keys that need a yes.
    to_approve: i64,
    to_review: i64,
    unpaid: i64,
    disputed: i64,
    open: i64,
    month: SoFar,
    webhook: Webhook,
    events: Vec<Event>,
    confirmed: bool,
}

#[derive(Deserialize)]
struct Usage {
    tier: String,
    tasks_this_month: i64,
    tasks_limit: i64,
}

#[derive(Deserialize)]
struct Webhook {
    webhook_url: Option<String>,
    failing_since: Option<String>,
    disabled_at: Option<String>,
}

/// The check-list of a new environment.
#[derive(Template)]
#[template(path = "dashboard/begin.html")]
struct Begin {
    shell: Shell,
    base: String,
    url: String,
    form: Form,
    /// One that was just made.
    test_key: Option<String>,
}

pub async fn choose() -> Response {
    Redirect::to("/dashboard/test").into_response()
}

pub async fn show(desk: Desk) -> Result<Response, Refused> {
    let all: List<TaskItem> = desk.ask(Ask::get("/v1/tasks?limit=1")).await?;
    if all.meta.total == Some(0) {
        return Ok(begin(&desk, None, StatusCode::OK));
    }
    let (base, confirmed) = (desk.path(""), desk.visitor.account.email_confirmed);
    // Before all that is shown, so that nothing is missed until the page listens.
    let events: List<Event> = desk.ask(Ask::get("/v1/events?limit=8")).await?;
    let latest = events.data.first().map(|event| event.id.clone());
    let to_approve = approvals::waiting(&desk).await?;
    let mut open = 0;
    for status in ["posted", "assigned", "in_progress"] {
        open += in_status(&desk, status).await?;
    }
    Ok(ok(&Home {
        shell: desk.shell("Home", Place::Home).script("live"),
        usage: desk.ask(Ask::get("/v1/account/usage")).await?,
        month: so_far(&desk).await?,
        to_review: in_status(&desk, "proof_submitted").await?,
        // What waits for a yes is not paid for either, but that is not why.
        unpaid: (in_status(&desk, "pending").await? - to_approve).max(0),
        to_approve,
        disputed: in_status(&desk, "disputed").await?,
        webhook: desk.ask(Ask::get("/v1/account/webhook")).await?,
        confirmed: confirmed || !desk.pages.app.sends_mail,
        events: events.data,
        latest: latest.unwrap_or_default(),
        open,
        base,
    }))
}

/// A total that is kept, not counted.
async fn in_status(desk: &Desk, status: &str) -> Result<i64, Refused> {
    let list = Ask::get(format!("/v1/tasks?status={status}&limit=1"));
    let list: List<TaskItem> = desk.ask(list).await?;
    Ok(list.meta.total.unwrap_or(0))
}

fn begin(desk: &Desk, test_key: Option<String>, status: StatusCode) -> Response {
    let begin = Begin {
        shell: desk.shell("Home", Place::Home),
        base: desk.path(""),
        url: desk.pages.app.own_url().to_owned(),
        form: Form::new(),
        test_key,
    };
    page(status, &begin)
}

#[derive(Deserialize)]
struct NewKey {
    key: String,
}

/// A key for the first program. It is shown this once.
pub async fn first_key(desk: Desk, form: Form) -> Result<Response, Refused> {
    let body = json!({"name": "First test key", "environment": "test"});
    let made: NewKey = desk
        .ask(Ask::post("/v1/account/keys", body).once(form.key()))
        .await?;
    Ok(begin(&desk, Some(made.key), StatusCode::OK))
}
