//! /worker/verify: an identity document and a selfie, taken with the camera.

use askama::Template;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::{Ask, Refused};
use crate::domain::WorkerStatus;
use crate::pages::dashboard::List;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::words::When;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::Notification;
use crate::pages::worker::visit::Visit;

#[derive(Template)]
#[template(path = "worker/verify.html")]
struct Verify {
    frame: Frame,
    form: Form,
    may_send: bool,
    email_confirmed: bool,
    is_verified: bool,
    /// When the documents in review were sent.
    since: Option<When>,
    /// Why the last ones were refused.
    refused: Vec<String>,
}

pub async fn show(visit: Visit) -> Result<Response, Refused> {
    shown(&visit, StatusCode::OK, Form::new()).await
}

async fn shown(visit: &Visit, status: StatusCode, form: Form) -> Result<Response, Refused> {
    let (worker, t) = (&visit.worker, &visit.t.start);
    let in_review = worker.status == WorkerStatus::InReview;
    let unverified = worker.status == WorkerStatus::Unverified;
    let since = || visit.t.when(&worker.updated_at.to_string(), visit.now());
    let email_confirmed = worker.email_confirmed || !visit.pages.app.sends_mail;
    let shown = Verify {
        frame: visit.frame(t.verify_title, Place::Me),
        may_send: unverified && email_confirmed,
        is_verified: worker.status == WorkerStatus::Verified,
        since: in_review.then(since),
        refused: why_refused(visit).await?,
        email_confirmed,
        form,
    };
    Ok(page(status, &shown))
}

/// What the worker was told when documents were last refused. Nothing once others were sent.
pub(super) async fn why_refused(visit: &Visit) -> Result<Vec<String>, Refused> {
    if visit.worker.status != WorkerStatus::Unverified {
        return Ok(Vec::new());
    }
    let ask = Ask::get("/v1/worker/notifications?limit=50");
    let told: List<Notification> = visit.ask(ask).await?;
    let mut refusals = told.data.into_iter();
    let last = refusals.find(|one| one.kind == "worker_refused");
    Ok(last.map(|one| one.paragraphs).unwrap_or_default())
}

/// The files go to the API as they come.
pub async fn send(visit: Visit, request: Request) -> Result<Response, Refused> {
    match visit.pass_on("/v1/worker/verification", request).await {
        Ok(_) => Ok(Redirect::to("/worker/start").into_response()),
        Err(refused) if refused.status.is_client_error() => {
            let form = visit.refused(Form::new(), &refused, &["identity", "selfie"]);
            shown(&visit, refused.status, form).await
        }
        Err(refused) => Err(refused),
    }
}
