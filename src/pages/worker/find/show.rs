//! /worker/find/{id}: what it pays, what is wanted, and whether the worker may accept it.

use askama::Template;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use crate::api::inside::{Ask, Refused};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::{Offer, Offered, OwnTask, segment};
use crate::pages::worker::texts::Texts;
use crate::pages::worker::visit::Visit;

#[derive(Template)]
#[template(path = "worker/offer.html")]
struct ShowOffer {
    frame: Frame,
    offer: Offer,
    form: Form,
    /// Why it cannot be accepted, what to do about it, and where.
    why_not: Option<(&'static str, &'static str, &'static str)>,
}

/// Neither a home nor a position is known, so nobody knows how far it is.
#[derive(Template)]
#[template(path = "worker/no_place.html")]
struct NoPlace {
    frame: Frame,
    id: String,
    form: Form,
}

#[derive(Template)]
#[template(path = "worker/taken.html")]
struct Taken {
    frame: Frame,
}

pub async fn show(
    visit: Visit,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    shown(&visit, &id, Form::with(point(&query)), StatusCode::OK).await
}

/// Where the worker is, as far as it is known.
fn point(query: &Form) -> [(&'static str, String); 2] {
    ["latitude", "longitude"].map(|name| (name, query.get(name).trim().to_owned()))
}

async fn shown(
    visit: &Visit,
    id: &str,
    form: Form,
    status: StatusCode,
) -> Result<Response, Refused> {
    let mut target = format!("/v1/worker/available_tasks/{}", segment(id));
    if !form.get("latitude").is_empty() {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(point(&form));
        target = format!("{target}?{}", query.finish());
    }
    match visit.ask::<Offered>(Ask::get(target)).await {
        Ok(offered) => {
            let why = offered.ineligible_reason.as_deref();
            let shown = ShowOffer {
                frame: visit.frame(&offered.task.title, Place::Find),
                why_not: why.map(|why| why_not(visit.t, why)),
                offer: offered.task,
                form,
            };
            Ok(page(status, &shown))
        }
        Err(refused) if refused.is("TASK_NOT_FOUND") => not_offered(visit, id).await,
        Err(refused) if refused.is("VALIDATION_ERROR") => Ok(no_place(visit, id, form, &refused)),
        Err(refused) => Err(refused),
    }
}

/// Asks where the worker is, and comes back to this task.
fn no_place(visit: &Visit, id: &str, mut form: Form, refused: &Refused) -> Response {
    let mut status = StatusCode::OK;
    if point(&form).iter().any(|(_, given)| !given.is_empty()) {
        form = visit.refused(form, refused, &["latitude", "longitude"]);
        status = refused.status;
    }
    let frame = visit.frame(visit.t.find.no_place_title, Place::Find);
    let shown = NoPlace {
        frame: frame.script("position"),
        id: segment(id),
        form,
    };
    page(status, &shown)
}

/// It may be the worker's own by now. Otherwise somebody was faster.
async fn not_offered(visit: &Visit, id: &str) -> Result<Response, Refused> {
    let ask = Ask::get(format!("/v1/worker/tasks/{}", segment(id)));
    match visit.ask::<OwnTask>(ask).await {
        Ok(own) => Ok(Redirect::to(&format!("/worker/tasks/{}", own.id)).into_response()),
        Err(refused) if refused.is("TASK_NOT_FOUND") => {
            let frame = visit.frame(visit.t.find.taken_title, Place::Find);
            Ok(page(StatusCode::NOT_FOUND, &Taken { frame }))
        }
        Err(refused) => Err(refused),
    }
}

fn why_not(t: &Texts, why: &str) -> (&'static str, &'static str, &'static str) {
    let texts = &t.find.why_not;
    let ((text, button), to) = match why {
        "lacks_skill" => (texts.lacks_skill, "/worker/me#skills"),
        "unconfirmed_skill" => (texts.unconfirmed_skill, "/worker/me#skills"),
        "no_payout_account" => (texts.no_payout_account, "/worker/payout"),
        "too_many_tasks" => (texts.too_many_tasks, "/worker/tasks"),
        _ => (texts.not_verified, "/worker/start"),
    };
    (text, button, to)
}

pub async fn accept(visit: Visit, Path(id): Path<String>, form: Form) -> Result<Response, Refused> {
    let path = segment(&id);
    let ask = Ask::post(format!("/v1/worker/tasks/{path}/accept"), json!({}));
    match visit.ask::<Value>(ask.once(form.key())).await {
        Ok(_) => {
            let to = format!("/worker/tasks/{path}?done=accepted");
            Ok(Redirect::to(&to).into_response())
        }
        Err(refused) if refused.is_overtaken() => not_offered(&visit, &id).await,
        Err(refused) if refused.status.is_client_error() => {
            let form = visit.refused(form, &refused, &[]);
            shown(&visit, &id, form, refused.status).await
        }
        Err(refused) => Err(refused),
    }
}
