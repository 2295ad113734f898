//! /admin/queue

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use serde::Deserialize;

use crate::api::inside::{Ask, Refused};
use crate::domain::{AdminRole, QueueKind};
use crate::pages::console::models::{Item, Page};
use crate::pages::console::office::{Names, Office, Place, done, query};
use crate::pages::console::queue::about::{Row, rows};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::ok;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "console/queue.html")]
struct Queue {
    shell: Shell,
    form: Form,
    kinds: Vec<&'static str>,
    rows: Vec<Row>,
    /// The link to the next page.
    next: Option<String>,
    is_first: bool,
    names: Names,
    may_claim: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Filter {
    kind: String,
    claimed: String,
    status: String,
    cursor: String,
    done: String,
}

pub async fn show(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let wanted = [
        ("kind", filter.kind.as_str()),
        ("claimed", &filter.claimed),
        ("status", &filter.status),
    ];
    let cursor = ("cursor", filter.cursor.as_str());
    let target = query("/v1/admin/queue", wanted.into_iter().chain([cursor]));
    let page: Page<Item> = office.ask(Ask::get(target)).await?;
    let next = page.meta.next_cursor.as_deref();
    let next = next.map(|next| query("/admin/queue", wanted.into_iter().chain([("cursor", next)])));
    let mut shell = office.shell("Review queue", Place::Queue);
    shell.notice = done(&filter.done);
    Ok(ok(&Queue {
        shell,
        form: Form::with([
            ("kind", filter.kind.clone()),
            ("claimed", filter.claimed.clone()),
            ("status", filter.status.clone()),
        ]),
        kinds: QueueKind::ALL.iter().map(|kind| kind.as_str()).collect(),
        next,
        is_first: filter.cursor.is_empty(),
        rows: rows(&office, page.data).await?,
        names: office.names().await?,
        may_claim: office.may(AdminRole::Operator),
    }))
}
