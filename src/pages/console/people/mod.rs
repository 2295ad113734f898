//! Accounts, workers and tasks: search, history, and what an admin may change.

pub mod accounts;
pub mod tasks;
pub mod workers;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::inside::{Ask, Refused};
use crate::pages::console::models::{Line, Page};
use crate::pages::console::office::{Office, query};
use crate::pages::kit::form::Form;

/// What people are searched by.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Filter {
    q: String,
    status: String,
    cursor: String,
}

/// What has just been done.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct After {
    done: String,
}

/// Whoever was found, or the page of the one whose ID was given.
enum Search<T> {
    Found(Found<T>),
    One(Response),
}

struct Found<T> {
    status: StatusCode,
    form: Form,
    page: Page<T>,
    next: Option<String>,
}

/// Searches `accounts` or `workers`.
async fn search<T: DeserializeOwned>(
    office: &Office,
    filter: Filter,
    whom: &str,
) -> Result<Search<T>, Refused> {
    let (q, base) = (filter.q.trim(), format!("/admin/{whom}"));
    if is_id(q) {
        let one = Redirect::to(&format!("{base}/{q}"));
        return Ok(Search::One(one.into_response()));
    }
    let target = [
        ("email", q),
        ("status", filter.status.as_str()),
        ("cursor", &filter.cursor),
    ];
    let mut form = Form::with([("q", filter.q.clone()), ("status", filter.status.clone())]);
    let found = Ask::get(query(&format!("/v1/admin/{whom}"), target));
    let (status, page): (_, Page<T>) = match office.ask(found).await {
        Ok(found) => (StatusCode::OK, found),
        Err(refused) if refused.status == StatusCode::BAD_REQUEST => {
            form.add_fault("q", "Enter a whole e-mail address, or an ID.");
            (refused.status, Page::empty())
        }
        Err(refused) => return Err(refused),
    };
    let next = page.next(&base, &[("q", q), ("status", &filter.status)]);
    Ok(Search::Found(Found {
        status,
        form,
        page,
        next,
    }))
}

/// Sends a form about one of them, and says where to go on. What was refused comes back with the form.
async fn change(
    office: &Office,
    (whom, id, action): (&str, &str, &str),
    fields: &[&str],
    (form, done): (Form, &str),
) -> Result<Result<Response, (Form, StatusCode)>, Refused> {
    let target = format!("/v1/admin/{whom}/{}/{action}", part(id));
    let ask = Ask::post(target, Value::Object(form.texts(fields))).once(form.key());
    match office.ask::<Value>(ask).await {
        Ok(_) => {
            let back = format!("/admin/{whom}/{}?done={done}", part(id));
            Ok(Ok(Redirect::to(&back).into_response()))
        }
        Err(refused) if refused.status.is_server_error() => Err(refused),
        Err(refused) if refused.status == StatusCode::NOT_FOUND => Err(refused),
        Err(refused) => Ok(Err((form.refused(&refused, fields), refused.status))),
    }
}

/// After a conflict, the form says how things stand now.
fn with_state(mut form: Form, status: StatusCode, state: &str) -> Form {
    if status == StatusCode::CONFLICT {
        form.problem = form.problem.map(|problem| format!("{problem} {state}"));
    }
    form
}

/// What was done to an object, newest first.
pub async fn history(office: &Office, id: &str) -> Result<Vec<Line>, Refused> {
    let target = query("/v1/admin/audit", [("subject_id", id), ("limit", "20")]);
    let page: Page<Line> = office.ask(Ask::get(target)).await?;
    Ok(page.data)
}

/// Whether somebody searches for an id and not for an address.
pub fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A part of a path.
pub fn part(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
