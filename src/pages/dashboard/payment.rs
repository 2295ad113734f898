//! How tasks are paid for, what the month has cost, and its statement.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "dashboard/payment.html")]
struct ShowPayment {
    shell: Shell,
    base: String,
    method: Method,
    usage: Usage,
    form: Form,
    sandbox: bool,
    recent: bool,
}

#[derive(Deserialize)]
struct Method {
    payment_method: Option<String>,
    processor: Option<String>,
    updated_at: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    tier: String,
    tasks_this_month: i64,
    tasks_limit: i64,
    api_keys_count: i64,
}

impl Usage {
    fn percent(&self) -> i64 {
        self.tasks_this_month * 100 / self.tasks_limit.max(1)
    }
}

pub async fn show(desk: Desk) -> Result<Response, Refused> {
    shown(&desk, Form::new(), StatusCode::OK, None).await
}

async fn shown(
    desk: &Desk,
    form: Form,
    status: StatusCode,
    notice: Option<&'static str>,
) -> Result<Response, Refused> {
    Ok(page(
        status,
        &ShowPayment {
            shell: desk.shell("Payment", Place::Payment).notice(notice),
            base: desk.path(""),
            method: desk.ask(Ask::get("/v1/account/payment_method")).await?,
            usage: desk.ask(Ask::get("/v1/account/usage")).await?,
            sandbox: desk.pages.app.payments.sandbox.is_some(),
            recent: desk.is_recent(),
            form,
        },
    ))
}

pub async fn put(desk: Desk, form: Form) -> Result<Response, Refused> {
    if let Some(again) = desk.password_again("/payment") {
        return Ok(again);
    }
    let body = json!({"payment_method": form.get("payment_method").trim()});
    match desk
        .ask::<Value>(Ask::put("/v1/account/payment_method", body))
        .await
    {
        Ok(_) => {
            let notice = "New live tasks are charged to this method.";
            shown(&desk, Form::new(), StatusCode::OK, Some(notice)).await
        }
        Err(refused) if refused.status.is_client_error() => {
            let (status, form) = (refused.status, form.refused(&refused, &["payment_method"]));
            shown(&desk, form, status, None).await
        }
        Err(refused) => Err(refused),
    }
}

pub async fn remove(desk: Desk) -> Result<Response, Refused> {
    if let Some(again) = desk.password_again("/payment") {
        return Ok(again);
    }
    let _: Value = desk.ask(Ask::delete("/v1/account/payment_method")).await?;
    Ok(Redirect::to(&desk.path("/payment")).into_response())
}
