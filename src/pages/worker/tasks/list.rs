//! /worker/tasks: what is to be done first, then what waits for others.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::Response;

use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::List;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::ok;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::OwnTask;
use crate::pages::worker::visit::Visit;

const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "worker/tasks.html")]
struct Tasks {
    frame: Frame,
    groups: Vec<Group>,
    is_empty: bool,
    newer: Option<i64>,
    older: Option<i64>,
}

struct Group {
    heading: &'static str,
    tasks: Vec<OwnTask>,
}

pub async fn show(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let offset = query.get("offset").parse().unwrap_or(0).clamp(0, 1_000_000);
    let target = format!("/v1/worker/tasks?limit={PAGE}&offset={offset}");
    let found: List<OwnTask> = visit.ask(Ask::get(target)).await?;
    let (t, total) = (&visit.t.tasks, found.meta.total.unwrap_or(0));
    let notice = (query.get("done") == "released").then_some(t.done_released);
    let is_empty = found.data.is_empty();
    let (mut to_do, mut waiting, mut done) = (Vec::new(), Vec::new(), Vec::new());
    for task in found.data {
        match task.status.as_str() {
            "assigned" | "in_progress" | "proof_rejected" => to_do.push(task),
            "proof_submitted" | "disputed" => waiting.push(task),
            _ => done.push(task),
        }
    }
    // What is due first, first.
    to_do.sort_by(|a, b| a.due_at.cmp(&b.due_at));
    let groups = [(t.to_do, to_do), (t.waiting, waiting), (t.done, done)];
    let group = |(heading, tasks)| Group { heading, tasks };
    Ok(ok(&Tasks {
        frame: visit.frame(t.title, Place::Tasks).notice(notice),
        groups: groups.into_iter().map(group).collect(),
        is_empty,
        newer: (offset > 0).then_some((offset - PAGE).max(0)),
        older: (offset + PAGE < total).then_some(offset + PAGE),
    }))
}
