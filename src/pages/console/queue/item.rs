//! /admin/queue/{id}: all that is needed to decide an item.

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::api::inside::{Ask, Refused};
use crate::domain::{AdminRole, QueueKind, TaskId, Worker, WorkerId};
use crate::pages::console::models::Item;
use crate::pages::console::office::{Files, Names, Office, Place, done};
use crate::pages::console::queue::split;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::passkeys::Button;
use crate::pages::kit::words::{When, spaced};
use crate::usecases::UseCaseError;

#[derive(Template)]
#[template(path = "console/item.html")]
struct ItemPage {
    shell: Shell,
    form: Form,
    item: Item,
    names: Names,
    files: Files,
    may: May,
    /// Which items come next.
    filter: String,
    /// For a dispute: who gets how much, by decision.
    outcomes: Vec<(String, String)>,
    /// For a check of skills: whose.
    skilled: Option<Worker>,
    map: Option<String>,
}

/// What whoever looks may do.
struct May {
    /// The role allows it, the item is open, and nobody else has claimed it.
    decide: bool,
    /// What they have proposed themselves is for others.
    claim: bool,
    note: bool,
    clear: bool,
    close: bool,
    /// What is dangerous needs the key again,
    again: bool,
    /// and a code. A passkey stands for both.
    code: bool,
    passkey: bool,
    withdraw: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Shown {
    done: String,
    kind: String,
}

pub async fn show(
    office: Office,
    Path(id): Path<String>,
    Query(shown): Query<Shown>,
) -> Result<Response, Refused> {
    let form = Form::with([("filter", shown.kind)]);
    render(&office, &id, form, StatusCode::OK, &shown.done).await
}

/// The page, with what was entered. It gets the item anew, so it shows how things stand now.
pub async fn render(
    office: &Office,
    id: &str,
    mut form: Form,
    status: StatusCode,
    word: &str,
) -> Result<Response, Refused> {
    let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
    let item: Item = office
        .ask(Ask::get(format!("/v1/admin/queue/{id}")))
        .await?;
    let names = office.names().await?;
    if status == StatusCode::CONFLICT {
        let state = state(office, &item, &names);
        form.problem = form.problem.map(|problem| format!("{problem} {state}"));
    }
    let mut shell = office.shell(spaced(&item.kind), Place::Queue);
    // Whoever comes back to it later may find it closed or with somebody else, and others may open the same address.
    let holder = item.claimed_by.as_deref().filter(|_| item.is_open());
    let is_holder = holder.is_some_and(|by| names.is_own(by));
    shell.notice = done(word).filter(|_| word != "claimed" || is_holder);
    shell.scripts.push("console");
    let shown = ItemPage {
        may: may(office, &item, &names).await?,
        outcomes: outcomes(office, &item).await?,
        skilled: skilled(office, &item).await?,
        map: map(office, &item),
        filter: form.get("filter").to_owned(),
        files: office.files(),
        shell,
        form,
        item,
        names,
    };
    Ok(page(status, &shown))
}

/// The task of a proof or a dispute, with the place that was sent for the last attempt.
fn map(office: &Office, item: &Item) -> Option<String> {
    let attempts = item.attempts.iter().flat_map(|attempt| &attempt.proofs);
    let proofs = attempts.map(|details| &details.proof).chain(&item.proof);
    let exif = item.evidence.as_ref().map(|evidence| &evidence.exif);
    let (task, tiles) = (item.task.as_ref()?, office.pages.tiles());
    task.map(proofs, exif, tiles)
}

/// How things stand, in one sentence.
fn state(office: &Office, item: &Item, names: &Names) -> String {
    let when = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        When::parse(text, office.now()).exact
    };
    match (&item.claimed_by, item.is_open()) {
        (_, false) => format!("It was closed at {}.", when(&item.decided_at)),
        (Some(by), true) => {
            let until = when(&item.claimed_until);
            format!("It is claimed by {} until {until}.", names.of(by))
        }
        (None, true) => "It is open, and nobody has claimed it.".to_owned(),
    }
}

async fn may(office: &Office, item: &Item, names: &Names) -> Result<May, Refused> {
    let holder = item.claimed_by.as_deref();
    let is_free = holder.is_none_or(|by| names.is_own(by));
    let operates = office.may(AdminRole::Operator);
    let decide = operates && is_free && item.is_open();
    let owns = office.may(AdminRole::Owner);
    let kind = QueueKind::parse(&item.kind);
    let proposed = item.proposal.as_ref();
    let withdraw = proposed.is_some_and(|proposal| {
        owns || proposal.kind == "dispute" && operates && names.is_own(&proposal.proposed_by)
    });
    let again = !office.is_recent();
    let passkey = match again {
        true => Button::again(&office.pages, office.visitor.session.person).await?,
        false => None,
    };
    let own = proposed.is_some_and(|proposal| names.is_own(&proposal.proposed_by));
    Ok(May {
        decide,
        claim: decide && !own,
        note: operates,
        clear: decide && kind.is_some_and(QueueKind::can_be_cleared),
        close: decide && owns,
        again,
        code: office.has_app().await?,
        passkey: passkey.is_some(),
        withdraw,
    })
}

async fn outcomes(office: &Office, item: &Item) -> Result<Vec<(String, String)>, Refused> {
    let task = item.task_id.as_deref().and_then(TaskId::parse);
    let Some(task) = task.filter(|_| item.kind == QueueKind::Dispute.as_str()) else {
        return Ok(Vec::new());
    };
    let store = &office.pages.app.store;
    let task = store.read(move |tx| tx.any_task(task)).await;
    let task = task.map_err(UseCaseError::from)?;
    Ok(task.as_ref().map(split::examples).unwrap_or_default())
}

async fn skilled(office: &Office, item: &Item) -> Result<Option<Worker>, Refused> {
    let worker = item.worker_id.as_deref().and_then(WorkerId::parse);
    let Some(worker) = worker.filter(|_| item.kind == QueueKind::SkillCheck.as_str()) else {
        return Ok(None);
    };
    let store = &office.pages.app.store;
    let worker = store.read(move |tx| tx.worker(worker)).await;
    Ok(worker.map_err(UseCaseError::from)?)
}
