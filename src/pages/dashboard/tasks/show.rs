//! One task: how it stands, what comes next, its map, its money and its proofs.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::Response;

use super::told;
use crate::api::inside::{Ask, Refused};
use crate::domain::geo::Point;
use crate::domain::{self, TaskId};
use crate::pages::dashboard::approvals::{self, Approval};
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::events;
use crate::pages::dashboard::models::{
    Dispute, HistoryEntry, LedgerEntry, List, Payment, Proof, Task,
};
use crate::pages::dashboard::webhook::{self, Delivery};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::map::{self, Places};
use crate::pages::kit::words::{When, segment};
use crate::usecases::UseCaseError;

const BEFORE_PROOF: [&str; 4] = ["funded", "posted", "assigned", "in_progress"];

#[derive(Template)]
#[template(path = "dashboard/tasks/show.html")]
struct ShowTask {
    shell: Shell,
    base: String,
    latest: String,
    own_url: String,
    task: Task,
    /// What happens next, and when if nobody does anything.
    next: &'static str,
    by_clock: Option<(When, &'static str)>,
    history: Vec<HistoryEntry>,
    payment: Payment,
    ledger: Vec<LedgerEntry>,
    proofs: Vec<Proof>,
    dispute: Option<Dispute>,
    /// It waits for a yes.
    approval: Option<Approval>,
    deliveries: Vec<Delivery>,
    map: String,
    raw: String,
    /// What to cancel it comes to, if it can be cancelled.
    cancelling: Option<told::Cancelling>,
    is_over: bool,
    can_advance: bool,
    is_before_proof: bool,
    key: Form,
    /// What was entered, and what was wrong with it.
    form: Form,
}

pub async fn show(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let fresh = (Form::new(), StatusCode::OK);
    shown(&desk, &id, fresh, query.get("done")).await
}

/// The page, with what was wrong with a form on it, or what is said to be done. What was entered is kept.
pub async fn shown(
    desk: &Desk,
    id: &str,
    (form, status): (Form, StatusCode),
    done: &str,
) -> Result<Response, Refused> {
    let latest = events::latest(desk).await?;
    let of_task = |rest: &str| Ask::get(format!("/v1/tasks/{}{rest}", segment(id)));
    let raw: serde_json::Value = desk.ask(of_task("")).await?;
    let task: Task = serde_json::from_value(raw.clone()).map_err(|_| Refused::not_found())?;
    let history: List<HistoryEntry> = desk.ask(of_task("/history?limit=100")).await?;
    let payment: Payment = desk.ask(of_task("/payment")).await?;
    let ledger: List<LedgerEntry> = desk.ask(of_task("/ledger?limit=100")).await?;
    let proofs: List<Proof> = desk.ask(of_task("/proofs?limit=100")).await?;
    let dispute = dispute(desk, of_task("/dispute")).await?;
    let approval = awaited(desk, &task).await?;
    let stored = stored(desk, &task.id).await?;
    let notice = told::notice(done, &task.status, has_statement(dispute.as_ref()));
    let shell = desk.shell(&task.title, Place::Tasks).notice(notice);
    let mut shell = shell.kept_up_to_date(status);
    if task.status == "disputed" {
        shell = shell.script("draft");
    }
    let template = ShowTask {
        base: desk.path(""),
        latest,
        own_url: desk.pages.app.own_url().to_owned(),
        next: in_words(desk, &task, approval.is_some(), dispute.as_ref()),
        approval,
        deliveries: webhook::about_task(desk, &task.id).await?,
        by_clock: by_clock(desk, &stored),
        cancelling: told::cancelling(&stored, &payment.status, desk.now()),
        history: history.data.into_iter().rev().collect(),
        payment,
        ledger: ledger.data,
        map: map::draw(&places(&task, &proofs.data), desk.pages.tiles()),
        proofs: proofs.data.into_iter().rev().collect(),
        form: with_statement(form, dispute.as_ref()),
        dispute,
        raw: serde_json::to_string_pretty(&raw).unwrap_or_default(),
        is_before_proof: BEFORE_PROOF.contains(&task.status.as_str()),
        is_over: stored.status.is_final(),
        can_advance: desk.is_test() && !stored.status.is_final(),
        key: Form::new(),
        shell,
        task,
    };
    Ok(page(status, &template))
}

async fn dispute(desk: &Desk, ask: Ask) -> Result<Option<Dispute>, Refused> {
    match desk.ask(ask).await {
        Ok(dispute) => Ok(Some(dispute)),
        Err(refused) if refused.is("DISPUTE_NOT_FOUND") => Ok(None),
        Err(refused) => Err(refused),
    }
}

/// The yes that it waits for.
async fn awaited(desk: &Desk, task: &Task) -> Result<Option<Approval>, Refused> {
    if task.status != "pending" {
        return Ok(None);
    }
    let approval = approvals::of_task(desk, &task.id).await?;
    Ok(approval.filter(Approval::waits))
}

/// What happens next, or how it ended, in words.
pub async fn how_it_stands(desk: &Desk, task: &Task) -> Result<&'static str, Refused> {
    let path = format!("/v1/tasks/{}/dispute", segment(&task.id));
    let dispute = dispute(desk, Ask::get(path)).await?;
    let waits = awaited(desk, task).await?.is_some();
    Ok(in_words(desk, task, waits, dispute.as_ref()))
}

fn in_words(
    desk: &Desk,
    task: &Task,
    waits_for_yes: bool,
    dispute: Option<&Dispute>,
) -> &'static str {
    match task.status.as_str() {
        _ if waits_for_yes => told::WAITS_FOR_YES,
        // Nobody posts it there but whoever tests.
        "funded" if desk.is_test() => told::FUNDED_IN_TEST,
        status => told::next(status, decision(dispute)),
    }
}

fn has_statement(dispute: Option<&Dispute>) -> bool {
    dispute.is_some_and(|dispute| dispute.developer_statement.is_some())
}

fn decision(dispute: Option<&Dispute>) -> Option<&str> {
    dispute?.decision.as_deref()
}

/// The form of the dispute begins with what was said before.
fn with_statement(mut form: Form, dispute: Option<&Dispute>) -> Form {
    if form.get("statement").is_empty() {
        let said = dispute.and_then(|dispute| dispute.developer_statement.as_ref());
        form.fill("statement", said);
    }
    form
}

fn places(task: &Task, proofs: &[Proof]) -> Places {
    let sent = proofs.iter().rev().find_map(|proof| {
        let (latitude, longitude) = (proof.gps_latitude?, proof.gps_longitude?);
        Some((
            Point {
                latitude,
                longitude,
            },
            None,
        ))
    });
    Places {
        task: Point {
            latitude: task.location_latitude,
            longitude: task.location_longitude,
        },
        sent,
        exif: None,
    }
}

/// The task as the domain knows it: it says what time does, and what a decision would cost.
async fn stored(desk: &Desk, id: &str) -> Result<domain::Task, Refused> {
    let id = TaskId::parse(id).ok_or(UseCaseError::TaskNotFound)?;
    let owner = desk.owner();
    let read = desk.pages.app.store.read(move |tx| tx.task_of(owner, id));
    let task = read.await.map_err(UseCaseError::from)?;
    Ok(task.ok_or(UseCaseError::TaskNotFound)?)
}

/// What the passing of time will do, and when.
fn by_clock(desk: &Desk, task: &domain::Task) -> Option<(When, &'static str)> {
    let (at, action) = task.next_by_clock(desk.pages.app.scheduler.windows())?;
    Some((When::new(at, desk.now()), told::consequence(action)))
}
