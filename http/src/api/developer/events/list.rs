//! GET /v1/events

use axum::extract::State;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::openapi::{groups, parameters};
use crate::api::request::query::EventsQuery;
use crate::api::response::json::JsonResponse;
use crate::api::response::page::{CursorList, CursorMeta};
use crate::domain::EventType;
use crate::views::event::EventBody;

type EventPage = CursorList<EventBody>;

/// List events
///
/// Events in the key's environment of the last 30 days, newest first.
#[utoipa::path(
    get, path = "/v1/events", tag = "Webhooks", operation_id = "listEvents",
    params(
        ("type" = inline(Option<EventType>), Query, description = "Only of this type"),
        ("task_id" = inline(Option<parameters::TaskId>), Query, description = "Only of this task"),
        parameters::PageSize,
        ("cursor" = inline(Option<parameters::IdCursor>), Query, description = "`next_cursor` of the previous page"),
    ),
    responses((status = 200, description = "A page of events", body = EventPage),
        groups::Developer, groups::Query)
)]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    query: EventsQuery,
) -> Result<JsonResponse, ApiError> {
    let EventsQuery {
        filter,
        cursor,
        limit,
    } = query;
    let owner = caller.owner();
    let read = app.store.snapshot(move |tx| {
        let before = match cursor {
            None => i64::MAX,
            // An event that was pruned has none before it.
            Some(id) => tx.event_number(owner, id)?.unwrap_or(0),
        };
        tx.events_before(owner, filter, before, limit + 1)
    });
    let mut events = read.await?;
    let meta = CursorMeta::cut(&mut events, limit, |event| event.id.to_string());
    let data = events.into_iter().map(EventBody::of);
    JsonResponse::ok(&meta.list(data.collect::<Result<_, _>>()?))
}
