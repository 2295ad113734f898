//! Events as they happen.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};

use crate::http::{Call, backoff, cause};
use crate::operations::Events;
use crate::{Client, Error, ErrorCode, Event, EventFilter, EventType, Result};

/// The server sends a comment every 15 seconds. Who hears nothing for this long has lost it.
const SILENCE: Duration = Duration::from_secs(45);
const LARGEST_EVENT: usize = 4 << 20;

/// Where a stream begins, and what it gives out.
#[derive(Debug, Clone, Default)]
pub struct StreamOptions {
    /// Begin after the event with this id. Without it, the stream begins now.
    pub after: Option<String>,
    /// Without an id, begin with the first event there ever was.
    pub from_start: bool,
    /// Only these types; all if it is empty.
    pub types: Vec<EventType>,
    /// Only the events of this task.
    pub task_id: Option<String>,
}

/// What a stream has to tell.
#[derive(Debug)]
#[non_exhaustive]
pub enum News {
    Event(Event),
    /// The connection was lost, for this reason. The stream connects again as soon as it can, and says so.
    Lost(String),
    /// The stream is connected again.
    Back,
}

/// Events, in order, none twice and none missing.
///
/// When the connection breaks, the stream connects again and goes on where it was. It numbers what it
/// gets: events that are missing in between are read from the event list.
pub struct EventStream {
    client: Client,
    options: StreamOptions,
    /// The last event that was given out, or passed over.
    last_id: Option<String>,
    /// None: not known yet.
    last_number: Option<i64>,
    connection: Option<Response>,
    buffer: Vec<u8>,
    ready: VecDeque<Event>,
    failures: u32,
    /// Before the next connection.
    pause: Duration,
    /// It was told that the connection is lost.
    is_lost: bool,
    /// It waits for a free stream when the account has no more.
    pub(crate) is_patient: bool,
    /// It was connected before.
    is_known: bool,
    reconnects: u64,
    filled: u64,
}

impl Events {
    pub fn stream(&self, options: StreamOptions) -> EventStream {
        EventStream {
            client: self.0.clone(),
            last_id: options.after.clone(),
            last_number: (options.from_start && options.after.is_none()).then_some(0),
            options,
            connection: None,
            buffer: Vec::new(),
            ready: VecDeque::new(),
            failures: 0,
            pause: Duration::ZERO,
            is_lost: false,
            is_patient: true,
            is_known: false,
            reconnects: 0,
            filled: 0,
        }
    }
}

impl EventStream {
    /// The next event. It waits for as long as it takes; a connection that breaks is no error. A server
    /// that was never reached is one, a key that is refused, and events that are no longer kept.
    pub async fn next(&mut self) -> Result<Event> {
        loop {
            if let News::Event(event) = self.news().await? {
                return Ok(event);
            }
        }
    }

    /// As [`next`](Self::next), and it also tells when the connection was lost and when it is back: once each, however often
    /// it is tried.
    pub async fn news(&mut self) -> Result<News> {
        loop {
            while let Some(event) = self.ready.pop_front() {
                self.last_id = Some(event.id.clone());
                self.last_number = Some(event.number);
                if self.options.types.is_empty() || self.options.types.contains(&event.event) {
                    return Ok(News::Event(event));
                }
            }
            match self.receive().await {
                // A greeting alone is no success: what comes after it may fail once more.
                Ok(()) if self.ready.is_empty() => {}
                Ok(()) => self.failures = 0,
                Err(error) => {
                    let reason = reason(&error);
                    self.after_failure(error)?;
                    if self.is_known && !std::mem::replace(&mut self.is_lost, true) {
                        return Ok(News::Lost(reason));
                    }
                }
            }
            if self.connection.is_some() && std::mem::take(&mut self.is_lost) {
                return Ok(News::Back);
            }
        }
    }

    /// Connects, if it is not connected: from now on no event is missed.
    pub async fn connect(&mut self) -> Result<()> {
        while self.connection.is_none() {
            if let Err(error) = self.reconnect().await {
                self.after_failure(error)?;
            }
        }
        Ok(())
    }

    /// The id of the last event, from which another stream can go on.
    pub fn position(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How often the connection was lost.
    pub fn reconnects(&self) -> u64 {
        self.reconnects
    }

    /// How many events were missing on the stream and read from the list.
    pub fn filled(&self) -> u64 {
        self.filled
    }

    fn after_failure(&mut self, error: Error) -> Result<()> {
        self.connection = None;
        let is_passing = match &error {
            Error::Network { .. } | Error::Timeout { .. } | Error::Answer { .. } => true,
            Error::Api(refused) if refused.status == 429 => self.is_patient,
            Error::Api(refused) => matches!(refused.status, 408 | 500..),
            _ => false,
        };
        let is_hopeless = !self.is_known && self.failures >= self.client.max_retries();
        if !is_passing || is_hopeless {
            return Err(error);
        }
        self.reconnects += 1;
        // The first time at once: servers restart.
        self.pause = match self.failures {
            0 => Duration::ZERO,
            failures => backoff(failures - 1),
        };
        self.failures += 1;
        Ok(())
    }

    /// Reads what comes next into `ready`.
    async fn receive(&mut self) -> Result<()> {
        if self.connection.is_none() {
            return self.reconnect().await;
        }
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        let broken = |reason: String| Error::Network {
            url: "the event stream".to_owned(),
            reason,
        };
        let chunk = match tokio::time::timeout(SILENCE, connection.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Err(broken("the server ended it".to_owned())),
            Ok(Err(error)) => return Err(broken(cause(&error))),
            Err(_) => return Err(broken("nothing was heard".to_owned())),
        };
        self.buffer.extend_from_slice(&chunk);
        while let Some(event) = self.parse()? {
            self.accept(event).await?;
        }
        Ok(())
    }

    async fn reconnect(&mut self) -> Result<()> {
        tokio::time::sleep(std::mem::take(&mut self.pause)).await;
        self.buffer.clear();
        if self.last_id.is_none() && self.last_number.is_none() {
            self.begin_now().await?;
        }
        let mut call = Call::new(Method::GET, "/v1/events/stream", &[]);
        if let Some(task) = &self.options.task_id {
            call.set("task_id", task);
        }
        let opened = self
            .client
            .open(&call, after(self.last_id.as_deref()))
            .await;
        let is_too_old = |error: &Error| error.code() == Some(&ErrorCode::ValidationError);
        match (opened, self.last_number) {
            (Ok(connection), number) => {
                self.connection = Some(connection);
                self.is_known = true;
                // Without an id to go on from, what came before the connection is in the list.
                if let (None, Some(number)) = (&self.last_id, number) {
                    self.fill(number, i64::MAX).await?;
                }
            }
            // The event that was last is no longer kept. What is kept after it is in the list.
            (Err(error), Some(number)) if is_too_old(&error) => {
                self.connection = Some(self.client.open(&call, HeaderMap::new()).await?);
                self.fill(number, i64::MAX).await?;
            }
            (Err(error), _) => return Err(error),
        }
        Ok(())
    }

    /// A connection may break before the first event: so the place where the stream begins is known
    /// before it connects.
    async fn begin_now(&mut self) -> Result<()> {
        let filter = EventFilter {
            limit: Some(1),
            ..EventFilter::default()
        };
        let newest = self.client.events().list(&filter).next().await?;
        self.last_number = Some(newest.as_ref().map_or(0, |event| event.number));
        self.last_id = newest.map(|event| event.id);
        Ok(())
    }

    /// Puts an event into `ready`, after those that are missing before it.
    async fn accept(&mut self, event: Event) -> Result<()> {
        let last = self
            .ready
            .back()
            .map(|event| event.number)
            .or(self.last_number);
        if let Some(last) = last {
            if event.number <= last {
                return Ok(());
            }
            // The events of one task have numbers of their own choice.
            if event.number > last + 1 && self.options.task_id.is_none() {
                let filled = self.fill(last, event.number).await;
                // What is no longer kept never comes. All else does, so this one waits until it has come: given out
                // before, it would be the place to go on from.
                if matches!(filled, Ok(()) | Err(Error::EventsLost { .. })) {
                    self.ready.push_back(event);
                }
                return filled;
            }
        }
        self.ready.push_back(event);
        Ok(())
    }

    /// Reads the events between two numbers from the list, which is newest first.
    async fn fill(&mut self, after: i64, before: i64) -> Result<()> {
        let task_id = self.options.task_id.clone();
        let filter = EventFilter {
            task_id,
            limit: Some(100),
            ..EventFilter::default()
        };
        let mut list = self.client.events().list(&filter);
        let mut missing = VecDeque::new();
        while let Some(event) = list.next().await? {
            if event.number <= after {
                break;
            }
            if event.number < before {
                missing.push_front(event);
            }
        }
        self.filled += missing.len() as u64;
        let first = missing.front().map_or(before, |event| event.number);
        self.ready.extend(missing);
        if first > after + 1 && first != i64::MAX && self.options.task_id.is_none() {
            return Err(Error::EventsLost {
                after,
                before: first,
            });
        }
        Ok(())
    }

    /// The next whole event of the buffer.
    fn parse(&mut self) -> Result<Option<Event>> {
        while let Some(end) = self.buffer.windows(2).position(|two| two == b"\n\n") {
            let message: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let lines = message.split(|byte| *byte == b'\n');
            let data: Vec<&[u8]> = lines
                .filter_map(|line| line.strip_prefix(b"data:"))
                .collect();
            if !data.is_empty() {
                let event = serde_json::from_slice(&data.concat());
                let reason = |error: serde_json::Error| Error::Answer {
                    url: "the event stream".to_owned(),
                    reason: error.to_string(),
                };
                return event.map(Some).map_err(reason);
            }
        }
        match self.buffer.len() > LARGEST_EVENT {
            true => Err(Error::Answer {
                url: "the event stream".to_owned(),
                reason: "an event is too large".to_owned(),
            }),
            false => Ok(None),
        }
    }
}

/// The address is known to whoever listens.
fn reason(error: &Error) -> String {
    match error {
        Error::Network { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

fn after(id: Option<&str>) -> HeaderMap {
    let value = id.and_then(|id| HeaderValue::from_str(id).ok());
    let named = value.map(|value| (HeaderName::from_static("last-event-id"), value));
    named.into_iter().collect()
}
