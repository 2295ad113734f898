//! /v1/events: what happened, for those who would rather ask.

use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::App;
use super::answer::Answer;
use super::authentication::Caller;
use super::error::ApiError;
use super::openapi::{PageLimit, errors};
use super::openapi_examples::WebhookExample;
use super::query::EventsQuery;
use crate::domain::{Event, EventType, Timestamp};
use crate::store::StoreError;

/// Something that happened. Webhooks carry `event` and `data` as they are here.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(WebhookExample::Event.value()))]
pub struct EventBody {
    id: String,
    /// Events of an account and environment are numbered without gaps.
    number: i64,
    event: EventType,
    /// The task as it stood afterwards, without its instructions; with the `proof` where one was
    /// submitted or rejected.
    #[schema(value_type = Object)]
    data: Box<RawValue>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl EventBody {
    pub fn of(event: Event) -> Result<Self, StoreError> {
        let data = RawValue::from_string(event.data)
            .map_err(|e| StoreError::Failed(format!("data of {}: {e}", event.id)))?;
        Ok(Self {
            id: event.id.to_string(),
            number: event.number,
            event: event.event_type,
            data,
            created_at: event.created_at,
        })
    }
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(WebhookExample::Events.value()))]
pub struct EventList {
    data: Vec<EventBody>,
    meta: EventMeta,
}

#[derive(Serialize, ToSchema)]
struct EventMeta {
    limit: i64,
    /// Asks for the next page; null on the last one.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// List events
///
/// Of the key's environment, newest first, those of the last 30 days.
#[utoipa::path(
    get, path = "/v1/events", tag = "Webhooks", operation_id = "listEvents",
    params(
        ("type" = inline(Option<EventType>), Query, description = "Only of this type"),
        ("task_id" = Option<String>, Query, description = "Only of this task",
            pattern = "^[0-9a-f]{32}$"),
        ("limit" = inline(Option<PageLimit>), Query,
            description = "Page size, 20 when left out; more than 100 is served as 100"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before",
            pattern = "^[0-9a-f]{32}$"),
    ),
    responses((status = 200, description = "A page of events", body = EventList),
        errors::Common, errors::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    query: EventsQuery,
) -> Result<Answer, ApiError> {
    let EventsQuery {
        filter,
        cursor,
        limit,
    } = query;
    let owner = caller.owner();
    let read = app.store.snapshot(move |tx| {
        let before = match cursor {
            None => i64::MAX,
            // An event that is forgotten has none before it.
            Some(id) => tx.event_number(owner, id)?.unwrap_or(0),
        };
        tx.events_before(owner, filter, before, limit + 1)
    });
    let mut events = read.await?;
    let more = events.len() as i64 > limit;
    events.truncate(limit as usize);
    let last = events.last().filter(|_| more);
    let next_cursor = last.map(|event| event.id.to_string());
    Answer::ok(&EventList {
        data: events
            .into_iter()
            .map(EventBody::of)
            .collect::<Result<_, _>>()?,
        meta: EventMeta { limit, next_cursor },
    })
}
