//! /admin/jobs: dead ones first.

use askama::Template;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::Value;

use crate::api::inside::{Ask, Refused};
use crate::domain::AdminRole;
use crate::pages::console::models::{Job, Page};
use crate::pages::console::office::{Office, Place, done, query};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "console/jobs.html")]
struct Jobs {
    shell: Shell,
    form: Form,
    all: bool,
    page: Page<Job>,
    next: Option<String>,
    may_retry: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Filter {
    show: String,
    cursor: String,
    done: String,
}

pub async fn show(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    render(&office, &filter, Form::new(), StatusCode::OK).await
}

async fn render(
    office: &Office,
    filter: &Filter,
    form: Form,
    status: StatusCode,
) -> Result<Response, Refused> {
    let all = filter.show == "all";
    let dead = if all { "" } else { "true" };
    let target = query(
        "/v1/admin/jobs",
        [("dead", dead), ("cursor", &filter.cursor)],
    );
    let found: Page<Job> = office.ask(Ask::get(target)).await?;
    let next = found.next("/admin/jobs", &[("show", &filter.show)]);
    let mut shell = office.shell("Jobs", Place::Jobs);
    shell.notice = done(&filter.done);
    let shown = Jobs {
        shell,
        form,
        all,
        page: found,
        next,
        may_retry: office.may(AdminRole::Operator),
    };
    Ok(page(status, &shown))
}

pub async fn retry(office: Office, form: Form) -> Result<Response, Refused> {
    let body = Value::Object(form.texts(&["kind", "subject"]));
    let ask = Ask::post("/v1/admin/jobs/retry", body).once(form.key());
    let back = match form.get("from") {
        "notices" => "/admin/notices?done=retry",
        _ => "/admin/jobs?done=retry",
    };
    match office.ask::<Value>(ask).await {
        Ok(_) => Ok(Redirect::to(back).into_response()),
        Err(refused) if refused.status.is_server_error() => Err(refused),
        Err(refused) => {
            let form = form.refused(&refused, &[]);
            render(&office, &Filter::default(), form, refused.status).await
        }
    }
}
