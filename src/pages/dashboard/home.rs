//! What waits for the developer.

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::kit::html::ok;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "dashboard/home.html")]
struct Home {
    shell: Shell,
    usage: Usage,
}

#[derive(Deserialize)]
struct Usage {
    tier: String,
    tasks_this_month: i64,
    tasks_limit: i64,
}

pub async fn choose() -> Response {
    Redirect::to("/dashboard/test").into_response()
}

pub async fn show(desk: Desk) -> Result<Response, Refused> {
    let usage = desk.ask(Ask::get("/v1/account/usage")).await?;
    let shell = desk.shell("Home", Place::Home);
    Ok(ok(&Home { shell, usage }))
}
