//! GET /v1/events/stream: events as they happen, as Server-Sent Events.

use std::collections::VecDeque;
use std::fmt::Write;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use tokio::time::{Instant, sleep, sleep_until};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::Caller;
use crate::api::middleware::limits::streams::StreamPermit;
use crate::api::openapi::{groups, parameters};
use crate::api::request::query::StreamQuery;
use crate::domain::accounts::mandate::{Needs, Permission};
use crate::domain::{AccountStatus, Event, EventId, EventType, Owner, Secret};
use crate::store::{EventFilter, EventWakeup, KeyHolder, Lookup, StoreError};
use crate::usecases;
use crate::views::event::EventBody;
use crate::views::to_json;

/// How often events of other processes are polled for.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const READ_AT_ONCE: i64 = 100;
/// What is ready to be sent holds about this much. The rest is read again when it was taken: whoever reads nothing
/// must not have a hundred large events kept in memory.
const READY_BYTES: usize = 256 * 1024;
/// Tells a client when to reconnect.
const GREETING: &str = "retry: 1000\n\n";

/// Stream events
///
/// Server-Sent Events: `id` is the event's ID, `event` its type, `data` the event as JSON. The
/// stream starts with the next event or, with `Last-Event-ID`, with the event after that one. An
/// unknown `Last-Event-ID` is an error. A comment is sent every 15 seconds.
#[utoipa::path(
    get, path = "/v1/events/stream", tag = "Webhooks", operation_id = "streamEvents",
    params(
        ("type" = inline(Option<EventType>), Query, description = "Only of this type"),
        ("task_id" = inline(Option<parameters::TaskId>), Query, description = "Only of this task"),
        ("Last-Event-ID" = inline(Option<parameters::LastEventId>), Header, description = "Continue after this event"),
    ),
    responses((status = 200, description = "Events", body = String,
            content_type = "text/event-stream",
            example = "id: 019a8574c1f17a52b6c7d8e9f0a1b2c3\nevent: task.funded\ndata: {...}\n\n"),
        groups::Developer, groups::Query)
)]
pub async fn stream(
    State(app): State<App>,
    caller: Caller,
    StreamQuery(filter): StreamQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let owner = caller.owner();
    let last_seen = last_seen(&headers)?;
    let permit = app.streams.acquire(owner.account)?;
    let wakeup = app.store.event_wakeup(owner);
    let read = app.store.read(move |tx| match last_seen {
        None => tx.last_event_number(owner).map(Some),
        Some(id) => tx.event_number(owner, id),
    });
    let listener = Listener {
        after: read.await?.ok_or_else(unknown)?,
        at_once: READ_AT_ONCE,
        ready: VecDeque::from([Bytes::from_static(GREETING.as_bytes())]),
        heard_at: Instant::now(),
        checked_at: Instant::now(),
        app,
        owner,
        key: caller.key,
        filter,
        wakeup,
        _permit: permit,
    };
    let body = Body::from_stream(stream::unfold(listener, Listener::next));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Otherwise nginx would buffer the stream.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    Ok((headers, body).into_response())
}

fn last_seen(headers: &HeaderMap) -> Result<Option<EventId>, ApiError> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    EventId::parse(text).map(Some).ok_or_else(unknown)
}

/// One that was deleted is unknown too: what came after it may be gone as well.
fn unknown() -> ApiError {
    let message = "must be the id of an event of this account and environment that is still kept";
    ApiError::invalid("Last-Event-ID", message)
}

/// An open stream.
struct Listener {
    app: App,
    owner: Owner,
    key: Secret,
    filter: EventFilter,
    wakeup: EventWakeup,
    /// The number of the last event that was sent.
    after: i64,
    /// How many are read next: after large ones fewer, so that what does not fit is not read in vain.
    at_once: i64,
    ready: VecDeque<Bytes>,
    heard_at: Instant,
    checked_at: Instant,
    _permit: StreamPermit,
}

impl Listener {
    /// The next chunk to send; none when the stream ends. The client then reconnects.
    async fn next(mut self) -> Option<(Result<Bytes, StoreError>, Self)> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                self.heard_at = Instant::now();
                return Some((Ok(piece), self));
            }
            match self.listen().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some((Err(error), self)),
            }
        }
    }

    /// Waits for something to send; false when the stream must end.
    async fn listen(&mut self) -> Result<bool, StoreError> {
        // A database that is unavailable for a moment has not revoked anything.
        if self.checked_at.elapsed() >= self.app.timeouts.heartbeat
            && !self.still_welcome().await.unwrap_or(true)
        {
            return Ok(false);
        }
        let woken = self.wakeup.next();
        let (owner, after, at_once) = (self.owner, self.after, self.at_once);
        let read = self
            .app
            .store
            .snapshot(move |tx| tx.events_after(owner, after, at_once));
        let events = read.await?;
        if !events.is_empty() {
            drop(woken);
            let taken = take(events, &self.filter)?;
            // After the events were read: what was written once the key had been stopped finds it stopped.
            if !taken.pieces.is_empty() && !self.still_welcome().await? {
                return Ok(false);
            }
            self.after = taken.after.unwrap_or(self.after);
            self.at_once = (2 * taken.events).clamp(1, READ_AT_ONCE);
            self.ready.extend(taken.pieces);
            return Ok(true);
        }
        tokio::select! {
            () = woken => {}
            () = sleep(LOOK_EVERY) => {}
            () = sleep_until(self.heard_at + self.app.timeouts.heartbeat) => {
                self.ready.push_back(Bytes::from_static(b":\n\n"));
            }
            () = self.app.shutdown.started() => return Ok(false),
        }
        Ok(true)
    }

    /// What a limited key may do can change while it listens.
    fn may_read(&self, holder: &KeyHolder) -> bool {
        let (reading, now) = (Needs::Permission(Permission::Read), self.app.clock.now());
        holder
            .limits
            .is_none_or(|limits| limits.allow(reading, holder.time(now)).is_ok())
    }

    async fn still_welcome(&mut self) -> Result<bool, StoreError> {
        self.checked_at = Instant::now();
        if self.key.is_session() {
            let (hash, account) = (self.key.hash(), self.owner.account);
            let now = self.app.clock.now();
            let read = self.app.store.read(move |tx| {
                let session = tx.session_by_token(&hash, now)?;
                let account = tx.account(account)?;
                let active = account.is_some_and(|it| it.status == AccountStatus::Active);
                Ok::<_, StoreError>(session.is_some() && active)
            });
            return read.await;
        }
        let lookup = Lookup::key_holder(self.key.hash());
        let found = self.app.store.find(lookup).await?;
        Ok(usecases::authenticate(found).is_ok_and(|holder| self.may_read(&holder)))
    }
}

/// What of the events that were read is sent next.
#[derive(Default)]
struct Taken {
    pieces: Vec<Bytes>,
    /// The number of the last event that was looked at, and how many they were.
    after: Option<i64>,
    events: i64,
}

fn take(events: Vec<Event>, filter: &EventFilter) -> Result<Taken, StoreError> {
    let mut taken = Taken::default();
    let mut held = 0;
    for event in events {
        if held >= READY_BYTES {
            break;
        }
        taken.after = Some(event.number);
        taken.events += 1;
        if is_wanted(&event, filter) {
            let piece = piece(event)?;
            held += piece.len();
            taken.pieces.push(piece);
        }
    }
    Ok(taken)
}

fn is_wanted(event: &Event, filter: &EventFilter) -> bool {
    let of_type = filter
        .event_type
        .is_none_or(|wanted| wanted == event.event_type);
    of_type && filter.task.is_none_or(|task| event.task == Some(task))
}

fn piece(event: Event) -> Result<Bytes, StoreError> {
    let (id, event_type) = (event.id, event.event_type);
    let data = to_json(&EventBody::of(event)?)?;
    let mut text = String::with_capacity(data.len() + 100);
    let _ = write!(text, "id: {id}\nevent: {event_type}\ndata: {data}\n\n");
    Ok(Bytes::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    fn event(number: i64, bytes: usize) -> Event {
        let now = Timestamp::from_millis(0);
        Event {
            id: EventId::new(now, &[0; 10]),
            number,
            event_type: EventType::TaskFunded,
            task: None,
            data: format!("{{\"text\":\"{}\"}}", "x".repeat(bytes)),
            created_at: now,
        }
    }

    #[test]
    fn large_events_wait_until_others_were_taken() {
        let filter = EventFilter {
            event_type: None,
            task: None,
        };
        let events =
            |bytes: usize| -> Vec<Event> { (1..=100).map(|number| event(number, bytes)).collect() };
        let small = take(events(10), &filter).unwrap();
        assert_eq!((small.pieces.len(), small.after), (100, Some(100)));
        let large = take(events(31 * 1024), &filter).unwrap();
        let held: usize = large.pieces.iter().map(Bytes::len).sum();
        assert!(held < READY_BYTES + 32 * 1024, "{held}");
        // The next read goes on after the last one that was taken.
        assert_eq!(large.after, Some(large.events));
        assert_eq!(large.pieces.len() as i64, large.events);
    }
}
