//! /worker/tasks/{id}: where to go, what to do, what is wanted, and what came of earlier attempts.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::Response;

use crate::api::inside::{Ask, Refused};
use crate::pages::dashboard::List;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::{Dispute, OwnTask, Proof, segment};
use crate::pages::worker::texts::Texts;
use crate::pages::worker::visit::Visit;

#[derive(Template)]
#[template(path = "worker/task.html")]
struct ShowTask {
    frame: Frame,
    task: OwnTask,
    attempts: Vec<Attempt>,
    dispute: Option<Dispute>,
    directions: String,
    own_url: String,
    /// What was entered into the form of a dispute.
    form: Form,
}

/// The files of one attempt.
struct Attempt {
    number: i64,
    status: String,
    reason: Option<String>,
    sent_at: String,
    proofs: Vec<Proof>,
}

#[derive(Template)]
#[template(path = "worker/gone.html")]
struct Gone {
    frame: Frame,
}

pub async fn show(
    visit: Visit,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let notice = notice(visit.t, query.get("done"));
    let shown = shown(&visit, &id, Form::new(), notice).await;
    shown
        .map(|text| page(StatusCode::OK, &text))
        .or_else(|refused| not_own(&visit, refused))
}

/// A task that is no longer the worker's gets a page that says so.
fn not_own(visit: &Visit, refused: Refused) -> Result<Response, Refused> {
    if !refused.is("TASK_NOT_FOUND") {
        return Err(refused);
    }
    let frame = visit.frame(visit.t.tasks.gone_title, Place::Tasks);
    Ok(page(StatusCode::NOT_FOUND, &Gone { frame }))
}

/// The page again, with what was wrong. What was entered is kept.
pub async fn again(
    visit: &Visit,
    id: &str,
    form: Form,
    status: StatusCode,
) -> Result<Response, Refused> {
    match shown(visit, id, form, None).await {
        Ok(shown) => Ok(page(status, &shown)),
        Err(refused) => not_own(visit, refused),
    }
}

async fn shown(
    visit: &Visit,
    id: &str,
    form: Form,
    notice: Option<&'static str>,
) -> Result<ShowTask, Refused> {
    let of_task = |rest: &str| Ask::get(format!("/v1/worker/tasks/{}{rest}", segment(id)));
    let task: OwnTask = visit.ask(of_task("")).await?;
    let proofs: List<Proof> = visit.ask(of_task("/proofs?limit=100")).await?;
    let dispute = match visit.ask(of_task("/dispute")).await {
        Ok(dispute) => Some(dispute),
        Err(refused) if refused.is("DISPUTE_NOT_FOUND") => None,
        Err(refused) => return Err(refused),
    };
    let frame = visit
        .frame(&task.title, Place::Tasks)
        .notice(notice)
        .script("draft");
    Ok(ShowTask {
        frame,
        attempts: attempts(proofs.data),
        directions: directions(visit.incoming.user_agent(), &task),
        own_url: visit.pages.app.own_url().to_owned(),
        dispute,
        form,
        task,
    })
}

/// Newest first.
fn attempts(proofs: Vec<Proof>) -> Vec<Attempt> {
    let mut attempts: Vec<Attempt> = Vec::new();
    for proof in proofs {
        match attempts.last_mut() {
            Some(last) if last.number == proof.attempt_number => last.proofs.push(proof),
            _ => attempts.push(Attempt {
                number: proof.attempt_number,
                status: proof.status.clone(),
                reason: proof.rejection_reason.clone(),
                sent_at: proof.created_at.clone(),
                proofs: vec![proof],
            }),
        }
    }
    attempts.reverse();
    attempts
}

/// A link that opens the maps of the phone that asks.
fn directions(user_agent: &str, task: &OwnTask) -> String {
    let (latitude, longitude) = (task.location_latitude, task.location_longitude);
    let has = |word| user_agent.contains(word);
    if has("Android") {
        format!("geo:{latitude},{longitude}?q={latitude},{longitude}")
    } else if has("iPhone") || has("iPad") {
        format!("https://maps.apple.com/?daddr={latitude},{longitude}")
    } else {
        format!("https://www.openstreetmap.org/directions?to={latitude}%2C{longitude}")
    }
}

fn notice(t: &Texts, done: &str) -> Option<&'static str> {
    Some(match done {
        "accepted" => t.tasks.done_accepted,
        "started" => t.tasks.done_started,
        "disputed" => t.tasks.done_disputed,
        "sent" => t.tasks.done_sent,
        _ => return None,
    })
}
