//! /worker/me/passkeys

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::Refused;
use crate::domain::{Actor, Person, Timestamp};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::passkeys::{Manage, Owner};
use crate::pages::kit::session::SignedInWorker;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::visit::Visit;

const BASE: &str = "/worker/me/passkeys";

#[derive(Template)]
#[template(path = "worker/passkeys.html")]
struct Passkeys {
    frame: Frame,
    it: Manage,
}

fn owner<'a>(visit: &'a Visit, worker: &'a SignedInWorker) -> Owner<'a> {
    let (id, caller) = (visit.worker.id, &worker.caller);
    Owner {
        pages: &visit.pages,
        person: Person::Worker(id),
        label: format!("{} (worker)", visit.worker.email),
        by: Actor::worker(id),
        session: (&caller.token, caller.session.second_factor),
        words: &visit.t.passkeys,
        base: BASE,
    }
}

pub async fn show(visit: Visit, worker: SignedInWorker) -> Result<Response, Refused> {
    let nothing = (Form::new(), Vec::new());
    shown(&visit, &worker, StatusCode::OK, nothing).await
}

async fn shown(
    visit: &Visit,
    worker: &SignedInWorker,
    status: StatusCode,
    more: (Form, Vec<String>),
) -> Result<Response, Refused> {
    let when = |at: Timestamp| visit.t.when(&at.to_string(), visit.now());
    let it = owner(visit, worker).manage(more, when).await?;
    let frame = visit.frame(visit.t.passkeys.title, Place::Me);
    let frame = frame.script("passkeys");
    Ok(page(status, &Passkeys { frame, it }))
}

/// For the script. What it cannot show, such as the page for the password, it opens.
pub async fn options(visit: Visit, worker: SignedInWorker) -> Result<Response, Refused> {
    let again = "/worker/sign-in?again=1&next=%2Fworker%2Fme%2Fpasskeys";
    let again = (!visit.is_recent()).then_some(again);
    owner(&visit, &worker).options(again).await
}

pub async fn add(visit: Visit, worker: SignedInWorker, form: Form) -> Result<Response, Refused> {
    if !visit.is_recent() {
        return Ok(visit.sign_in_again(BASE));
    }
    match owner(&visit, &worker).add(form).await? {
        Ok(codes) if codes.is_empty() => Ok(Redirect::to(BASE).into_response()),
        Ok(codes) => codes_shown(visit, worker, codes).await,
        Err((status, form)) => shown(&visit, &worker, status, (form, Vec::new())).await,
    }
}

/// The session counts as one with a second factor from now on.
async fn codes_shown(
    visit: Visit,
    mut worker: SignedInWorker,
    codes: Vec<String>,
) -> Result<Response, Refused> {
    worker.caller.session.second_factor = true;
    shown(&visit, &worker, StatusCode::OK, (Form::new(), codes)).await
}

pub async fn remove(
    visit: Visit,
    worker: SignedInWorker,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    if !visit.is_recent() {
        return Ok(visit.sign_in_again(BASE));
    }
    // One that was removed elsewhere is gone, as it should be.
    owner(&visit, &worker).remove(&id).await?;
    Ok(Redirect::to(BASE).into_response())
}

pub async fn new_codes(visit: Visit, worker: SignedInWorker) -> Result<Response, Refused> {
    if !visit.is_recent() {
        return Ok(visit.sign_in_again(BASE));
    }
    let codes = owner(&visit, &worker).new_codes().await?;
    codes_shown(visit, worker, codes).await
}
