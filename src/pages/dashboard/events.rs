//! Events, as they happen.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use crate::api::inside::{Ask, Refused};
use crate::domain::EventType;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::dashboard::models::List;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "dashboard/events.html")]
struct Events {
    shell: Shell,
    base: String,
    latest: String,
    filters: Form,
    types: Vec<&'static str>,
    events: Vec<Event>,
    older: Option<String>,
    /// New events come on top: not of older ones.
    is_live: bool,
    is_refused: bool,
}

#[derive(Deserialize)]
pub struct Event {
    pub id: String,
    pub event: String,
    pub data: Value,
    pub created_at: String,
}

impl Event {
    /// The task that it is about.
    pub fn task(&self) -> &str {
        self.of_task("id")
    }

    pub fn title(&self) -> &str {
        self.of_task("title")
    }

    fn of_task(&self, name: &str) -> &str {
        let task = self.data.get("task").unwrap_or(&self.data);
        task.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn json(&self) -> String {
        serde_json::to_string_pretty(&self.data).unwrap_or_default()
    }
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let latest = latest(&desk).await?;
    let mut filters = Form::parse(query.unwrap_or_default().as_bytes());
    let found = desk.ask::<List<Event>>(Ask::get(target(&filters))).await;
    let (status, events, next) = match found {
        Ok(found) => (StatusCode::OK, found.data, found.meta.next_cursor),
        Err(refused) if refused.status == StatusCode::BAD_REQUEST => {
            filters = filters.refused(&refused, &["type", "task_id"]);
            (refused.status, Vec::new(), None)
        }
        Err(refused) => return Err(refused),
    };
    let events = Events {
        shell: desk.shell("Events", Place::Events).script("live"),
        base: desk.path(""),
        types: EventType::ALL.iter().map(|one| one.as_str()).collect(),
        older: next.map(|cursor| older(&desk, &filters, &cursor)),
        is_live: status == StatusCode::OK && filters.get("cursor").is_empty(),
        is_refused: status != StatusCode::OK,
        events,
        filters,
        latest,
    };
    Ok(page(status, &events))
}

fn target(filters: &Form) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", "25");
    for name in ["type", "task_id", "cursor"] {
        if !filters.get(name).is_empty() {
            query.append_pair(name, filters.get(name).trim());
        }
    }
    format!("/v1/events?{}", query.finish())
}

fn older(desk: &Desk, filters: &Form, cursor: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in ["type", "task_id"] {
        if !filters.get(name).is_empty() {
            query.append_pair(name, filters.get(name));
        }
    }
    query.append_pair("cursor", cursor);
    format!("{}?{}", desk.path("/events"), query.finish())
}

/// The id of the newest event, or nothing before the first. A page that is to be kept up to date asks for it before it
/// reads anything else, so that it misses nothing until it listens.
pub async fn latest(desk: &Desk) -> Result<String, Refused> {
    let newest: List<Event> = desk.ask(Ask::get("/v1/events?limit=1")).await?;
    let newest = newest.data.into_iter().next();
    Ok(newest.map(|event| event.id).unwrap_or_default())
}

/// The stream that one page of a browser listens to for all of them, from the newest event that this one knew of. When
/// the browser opens it again, it names the last event that came. After one that is no longer kept, it begins with the
/// next.
pub async fn stream(
    desk: Desk,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let known = Some(query.get("after")).filter(|id| !id.is_empty());
    let last = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok());
    let from = |id| Ask::get("/v1/events/stream").after_event(id);
    match desk.response(from(last.or(known))).await {
        Err(refused) if refused.status == StatusCode::BAD_REQUEST => {
            desk.response(from(None)).await
        }
        answer => answer,
    }
}
