//! One task: how it stands, what comes next, its map, its money and its proofs.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::response::Response;

use crate::api::inside::{Ask, Refused};
use crate::domain::geo::Point;
use crate::domain::{Action, TaskId};
use crate::pages::dashboard::approvals::{self, Approval};
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::events;
use crate::pages::dashboard::models::{
    Dispute, HistoryEntry, LedgerEntry, List, Payment, Proof, Task,
};
use crate::pages::dashboard::webhook::{self, Delivery};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::ok;
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
    can_cancel: bool,
    can_advance: bool,
    is_before_proof: bool,
    key: Form,
}

pub async fn show(
    desk: Desk,
    Path((_, id)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let latest = events::latest(&desk).await?;
    let of_task = |rest: &str| Ask::get(format!("/v1/tasks/{}{rest}", segment(&id)));
    let raw: serde_json::Value = desk.ask(of_task("")).await?;
    let task: Task = serde_json::from_value(raw.clone()).map_err(|_| Refused::not_found())?;
    let history: List<HistoryEntry> = desk.ask(of_task("/history?limit=100")).await?;
    let payment = desk.ask(of_task("/payment")).await?;
    let ledger: List<LedgerEntry> = desk.ask(of_task("/ledger?limit=100")).await?;
    let proofs: List<Proof> = desk.ask(of_task("/proofs?limit=100")).await?;
    let dispute = match desk.ask(of_task("/dispute")).await {
        Ok(dispute) => Some(dispute),
        Err(refused) if refused.is("DISPUTE_NOT_FOUND") => None,
        Err(refused) => return Err(refused),
    };
    let approval = match task.status.as_str() {
        "pending" => approvals::of_task(&desk, &task.id).await?,
        _ => None,
    };
    let approval = approval.filter(Approval::waits);
    let notice = notice(query.get("done"));
    let shell = desk
        .shell(&task.title, Place::Tasks)
        .notice(notice)
        .script("live");
    Ok(ok(&ShowTask {
        base: desk.path(""),
        latest,
        own_url: desk.pages.app.own_url().to_owned(),
        next: match approval {
            Some(_) => {
                "A limited key has created it. It waits for your yes; nothing is charged before."
            }
            None => next(&task.status),
        },
        approval,
        deliveries: webhook::about_task(&desk, &task.id).await?,
        by_clock: by_clock(&desk, &task.id).await?,
        history: history.data.into_iter().rev().collect(),
        payment,
        ledger: ledger.data,
        map: map::draw(&places(&task, &proofs.data), desk.pages.tiles()),
        proofs: proofs.data.into_iter().rev().collect(),
        dispute,
        raw: serde_json::to_string_pretty(&raw).unwrap_or_default(),
        can_cancel: ["pending", "funded", "posted", "assigned"].contains(&task.status.as_str()),
        is_before_proof: BEFORE_PROOF.contains(&task.status.as_str()),
        can_advance: desk.is_test() && !is_over(&task.status),
        key: Form::new(),
        shell,
        task,
    }))
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

fn is_over(status: &str) -> bool {
    ["completed", "cancelled", "expired", "refunded"].contains(&status)
}

fn next(status: &str) -> &'static str {
    match status {
        "pending" => "It waits for its payment. Workers see it once it is paid.",
        "funded" => "It is paid. It is posted in a moment.",
        "posted" => "Workers nearby see it. One of them accepts it.",
        "assigned" => "A worker has accepted it and will start.",
        "in_progress" => "The worker is on it and will send proof.",
        "proof_submitted" => "There is proof. Look at it, and approve or reject it.",
        "proof_rejected" => "You have rejected the proof. The worker tries again, or contests it.",
        "completed" => "Done: the proof counts, and the worker is paid.",
        "disputed" => "The worker contests your rejection. An admin decides.",
        "cancelled" => "It was cancelled.",
        "expired" => "Its time passed before it was done.",
        "refunded" => "It is over, and you have your money back.",
        _ => "",
    }
}

/// What the passing of time will do, and when.
async fn by_clock(desk: &Desk, id: &str) -> Result<Option<(When, &'static str)>, Refused> {
    let id = TaskId::parse(id).ok_or(UseCaseError::TaskNotFound)?;
    let owner = desk.owner();
    let read = desk.pages.app.store.read(move |tx| tx.task_of(owner, id));
    let task = read.await.map_err(UseCaseError::from)?;
    let windows = desk.pages.app.scheduler.windows();
    let due = task.and_then(|task| task.next_by_clock(windows));
    Ok(due.map(|(at, action)| (When::new(at, desk.now()), consequence(action))))
}

pub fn consequence(action: Action) -> &'static str {
    match action {
        Action::LeaveUnpaid => "it expires without payment",
        Action::Release => "it is offered to other workers again",
        Action::Approve => "the proof counts as approved",
        Action::DecideRefund => "you get your money back",
        _ => "it expires, and you get your money back",
    }
}

fn notice(done: &str) -> Option<&'static str> {
    Some(match done {
        "created" => "The task is created.",
        "advanced" => "The task has moved on.",
        "cancelled" => "The task is cancelled.",
        "approved" => "You have approved the proof. The task is completed.",
        "rejected" => "You have rejected the proof. The worker has been told why.",
        "stated" => "Your statement is kept. The worker and the admins read it.",
        _ => return None,
    })
}
