//! /worker/start: what is done, and what comes next.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use super::verify::why_refused;
use crate::api::inside::{Ask, Refused};
use crate::domain::WorkerStatus;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::ok;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::Profile;
use crate::pages::worker::visit::Visit;

#[derive(Template)]
#[template(path = "worker/start.html")]
struct Steps {
    frame: Frame,
    profile: Profile,
    email_confirmed: bool,
    is_verified: bool,
    is_in_review: bool,
    is_ready: bool,
    /// Why the last documents were refused.
    refused: Vec<String>,
}

impl Steps {
    /// The first step that waits for the worker, for the one button in the primary colour.
    fn next(&self) -> &'static str {
        if !self.email_confirmed {
            "email"
        } else if !self.is_verified && !self.is_in_review && !self.frame.is_suspended {
            "identity"
        } else if self.profile.payout_account.status != "ready" {
            "payout"
        } else {
            "area"
        }
    }
}

pub async fn show(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let t = &visit.t.start;
    let notice = (query.get("done") == "mailed").then_some(t.email_sent);
    let profile: Profile = visit.ask(Ask::get("/v1/worker")).await?;
    let sends_mail = visit.pages.app.sends_mail;
    let status = visit.worker.status;
    let is_verified = status == WorkerStatus::Verified;
    Ok(ok(&Steps {
        frame: visit.frame(t.title, Place::Me).notice(notice),
        email_confirmed: visit.worker.email_confirmed || !sends_mail,
        is_ready: is_verified && profile.payout_account.status == "ready",
        is_in_review: status == WorkerStatus::InReview,
        refused: why_refused(&visit).await?,
        is_verified,
        profile,
    }))
}

pub async fn send_confirmation(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post("/v1/worker/confirmation", json!({}));
    let _: Value = visit.ask(ask.once(form.key())).await?;
    Ok(Redirect::to("/worker/start?done=mailed").into_response())
}
