//! /admin/notices: the mails to workers and developers, and those that were given up first.

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use serde::Deserialize;

use crate::api::inside::{Ask, Refused};
use crate::domain::AdminRole;
use crate::pages::console::models::{Job, Notice, Page};
use crate::pages::console::office::{Office, Place, done, query};
use crate::pages::kit::html::ok;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "console/notices.html")]
struct Notices {
    shell: Shell,
    dead: Vec<Job>,
    page: Page<Notice>,
    next: Option<String>,
    may_retry: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Filter {
    cursor: String,
    done: String,
}

pub async fn show(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let target = query("/v1/admin/notices", [("cursor", filter.cursor.as_str())]);
    let found: Page<Notice> = office.ask(Ask::get(target)).await?;
    let jobs: Page<Job> = office
        .ask(Ask::get("/v1/admin/jobs?dead=true&limit=100"))
        .await?;
    let of_mail = |job: &Job| ["mail", "push", "send_link"].contains(&job.kind.as_str());
    let mut shell = office.shell("Notices", Place::Notices);
    shell.notice = done(&filter.done);
    let next = found.next("/admin/notices", &[]);
    Ok(ok(&Notices {
        shell,
        dead: jobs.data.into_iter().filter(of_mail).collect(),
        page: found,
        next,
        may_retry: office.may(AdminRole::Operator),
    }))
}
