//! How tasks are paid for, and which are not.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::approvals;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::models::{List, Payment, TaskItem};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::segment;

#[derive(Template)]
#[template(path = "dashboard/money/payment.html")]
struct ShowPayment {
    shell: Shell,
    base: String,
    method: Method,
    /// Tasks whose charge failed or that were never paid for.
    unpaid: Vec<Unpaid>,
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

/// A task that waits for its payment.
struct Unpaid {
    task: TaskItem,
    failure: Option<String>,
    pay_page: Option<String>,
    /// A limited key has created it, and nobody has agreed yet.
    waits_for_yes: bool,
}

/// As many as are shown; the list of tasks has all.
const UNPAID: usize = 10;

async fn unpaid(desk: &Desk) -> Result<Vec<Unpaid>, Refused> {
    let list = Ask::get(format!("/v1/tasks?status=pending&limit={UNPAID}"));
    let list: List<TaskItem> = desk.ask(list).await?;
    let mut unpaid = Vec::new();
    for task in list.data {
        let payment = Ask::get(format!("/v1/tasks/{}/payment", segment(&task.id)));
        let payment: Payment = desk.ask(payment).await?;
        let approval = approvals::of_task(desk, &task.id).await?;
        let pay_page = payment.pay_page(desk.pages.app.own_url());
        unpaid.push(Unpaid {
            task,
            pay_page: pay_page.map(str::to_owned),
            waits_for_yes: approval.is_some_and(|approval| approval.waits()),
            failure: payment.failure.map(|failure| failure.message),
        });
    }
    Ok(unpaid)
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
            unpaid: unpaid(desk).await?,
            sandbox: desk.pages.app.payments.sandbox.is_some(),
            recent: desk.is_recent(),
            form,
        },
    ))
}

pub async fn put(desk: Desk, form: Form) -> Result<Response, Refused> {
    if let Some(again) = desk.password_again(form.clone()).await? {
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
    if let Some(again) = desk.password_again(Form::default()).await? {
        return Ok(again);
    }
    let _: Value = desk.ask(Ask::delete("/v1/account/payment_method")).await?;
    Ok(Redirect::to(&desk.path("/payment")).into_response())
}
