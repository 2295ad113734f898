//! What the API says, in the worker's language.

use askama::Template;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use crate::api::inside::{Incoming, Refused, TakesPages};
use crate::pages::kit::form::{Form, told};
use crate::pages::kit::html::page;
use crate::pages::kit::whose::check::SignedInSince;
use crate::pages::worker::texts::{self, Texts};

/// Puts what is wrong beside what was entered.
pub fn refused(t: &Texts, form: Form, refused: &Refused, fields: &[&str]) -> Form {
    let mut form = form.refused(refused, fields);
    form.reword(|field, message| t.fault(field, message));
    if refused.fields.is_empty() {
        form.problem = Some(sentence(t, refused));
    }
    form
}

/// Why it was refused, and when to try again.
pub fn sentence(t: &Texts, refused: &Refused) -> String {
    let Some(text) = t.problem(&refused.code) else {
        return told(refused);
    };
    match refused.retry_after {
        Some(seconds) if seconds > 1 => {
            let wait = t.duration(seconds);
            format!("{text} {}", t.common.try_again_in.with(wait))
        }
        _ => text.to_owned(),
    }
}

#[derive(Template)]
#[template(path = "worker/message.html")]
struct Message<'a> {
    t: &'a Texts,
    heading: &'a str,
    text: String,
    to: (&'a str, &'a str),
    code: &'a str,
    request_id: &'a str,
}

fn signed_in_since(t: &Texts, since: SignedInSince, incoming: &Incoming) -> Response {
    let message = Message {
        t,
        heading: &t.errors.signed_in_since.with(&since.name),
        text: t.errors.made_for_another.to_owned(),
        to: (&since.back, t.errors.load_again),
        code: "",
        request_id: incoming.request_id(),
    };
    page(StatusCode::CONFLICT, &message)
}

/// What the pages of the app may ask a phone for.
const ALLOWED: &str =
    "camera=(self), display-capture=(), geolocation=(self), microphone=(), payment=(), usb=()";

/// Tells of an error in the worker's language.
pub async fn in_words(takes: TakesPages, request: Request, next: Next) -> Response {
    let t = texts::chosen(request.headers());
    let incoming = Incoming::of(&request);
    let mut response = next.run(request).await;
    let allowed = HeaderValue::from_static(ALLOWED);
    response.headers_mut().insert("permissions-policy", allowed);
    if let Some(since) = response.extensions_mut().remove::<SignedInSince>() {
        return signed_in_since(t, since, &incoming);
    }
    let Some(refused) = takes
        .0
        .then(|| Refused::taken_from(&mut response))
        .flatten()
    else {
        return response;
    };
    let errors = &t.errors;
    let heading = match refused.status {
        StatusCode::NOT_FOUND => errors.not_found,
        StatusCode::CONFLICT => errors.conflict,
        StatusCode::TOO_MANY_REQUESTS => errors.too_many,
        status if status.is_server_error() => errors.server,
        _ => errors.other,
    };
    let message = Message {
        t,
        heading,
        text: sentence(t, &refused),
        to: ("/worker", errors.home),
        code: &refused.code,
        request_id: incoming.request_id(),
    };
    let mut response = page(refused.status, &message);
    refused.note_on(&mut response);
    response
}
