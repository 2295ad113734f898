//! /admin/audit

use askama::Template;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::api::inside::{Ask, Refused};
use crate::pages::console::models::{Line, Page};
use crate::pages::console::office::{Names, Office, Place, query};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "console/audit.html")]
struct Audit {
    shell: Shell,
    form: Form,
    page: Page<Line>,
    next: Option<String>,
    names: Names,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Filter {
    subject_id: String,
    action: String,
    cursor: String,
}

pub async fn show(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let kept = [
        ("subject_id", filter.subject_id.trim()),
        ("action", filter.action.trim()),
    ];
    let target = kept.into_iter().chain([("cursor", filter.cursor.as_str())]);
    let mut form = Form::with([
        ("subject_id", filter.subject_id.clone()),
        ("action", filter.action.clone()),
    ]);
    let found = office.ask(Ask::get(query("/v1/admin/audit", target))).await;
    let (status, found): (_, Page<Line>) = match found {
        Ok(found) => (StatusCode::OK, found),
        Err(refused) if refused.status == StatusCode::BAD_REQUEST => {
            form = form.refused(&refused, &["subject_id", "action"]);
            (refused.status, Page::empty())
        }
        Err(refused) => return Err(refused),
    };
    let next = found.next("/admin/audit", &kept);
    let shown = Audit {
        shell: office.shell("Audit log", Place::Audit),
        form,
        page: found,
        next,
        names: office.names().await?,
    };
    Ok(page(status, &shown))
}
