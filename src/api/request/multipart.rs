//! Multipart bodies: files go to the incoming folder as they arrive, never into memory.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use axum::http::header;
use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt};
use multer::{Field, Multipart};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::body;
use crate::domain::FieldError;
use crate::files::Received;

/// All of an upload must have arrived by then: a hundred megabytes over a slow phone.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);
/// A sender that is silent for so long is gone.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// What a form may hold: files with their limits, and texts.
pub struct Expected<'a> {
    pub files: &'a [(&'static str, u64)],
    pub texts: &'a [&'static str],
}

/// A form that has arrived. Files that nobody keeps are removed when it is dropped.
#[derive(Default)]
pub struct Form {
    pub files: Vec<(&'static str, Received)>,
    texts: Vec<(&'static str, String)>,
}

impl Form {
    pub fn text(&self, name: &str) -> Option<&str> {
        let found = self.texts.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| text.as_str())
    }

    pub fn has_file(&self, name: &str) -> bool {
        self.files.iter().any(|(known, _)| *known == name)
    }
}

pub fn is_multipart(request: &Request) -> bool {
    content_type(request).is_some_and(|kind| kind.starts_with("multipart/"))
}

fn content_type(request: &Request) -> Option<&str> {
    request.headers().get(header::CONTENT_TYPE)?.to_str().ok()
}

/// Reads a form; all faults of its parts at once, but a file that is too large ends it.
pub async fn read(app: &App, request: Request, expected: &Expected<'_>) -> Result<Form, ApiError> {
    let boundary = content_type(&request).and_then(|kind| multer::parse_boundary(kind).ok());
    let Some(boundary) = boundary else {
        body::drain(request.into_body()).await;
        let message = "must be multipart/form-data";
        return Err(ApiError::invalid("Content-Type", message));
    };
    let mut stream = OneAtATime::of(request.into_body().into_data_stream().boxed());
    let reading = read_parts(app, &mut stream, boundary, expected);
    let read = tokio::time::timeout(TIME_LIMIT, reading).await;
    let read = read.unwrap_or(Err(ApiError::BodyTimeout));
    if read.is_err() {
        body::drain(axum::body::Body::from_stream(stream)).await;
    }
    read
}

type Chunk = Result<Bytes, axum::Error>;

/// A body that makes its reader pause after every chunk. The parser would otherwise take in all that
/// the network has, faster than it goes to disk.
struct OneAtATime {
    body: BoxStream<'static, Chunk>,
    pause: bool,
}

impl OneAtATime {
    fn of(body: BoxStream<'static, Chunk>) -> Self {
        Self { body, pause: false }
    }
}

impl Stream for OneAtATime {
    type Item = Chunk;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Chunk>> {
        if std::mem::take(&mut self.pause) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = self.body.poll_next_unpin(cx);
        self.pause = polled.is_ready();
        polled
    }
}

async fn read_parts(
    app: &App,
    stream: &mut OneAtATime,
    boundary: String,
    expected: &Expected<'_>,
) -> Result<Form, ApiError> {
    let mut form = Form::default();
    let mut faults = Vec::new();
    let mut parts = Multipart::new(stream, boundary);
    while let Some(part) = in_time(parts.next_field()).await?.map_err(broken)? {
        let name = part.name().unwrap_or_default().to_owned();
        let known_file = expected.files.iter().find(|(known, _)| *known == name);
        let known_text = expected.texts.iter().find(|known| **known == name);
        let twice = form.has_file(&name) || form.text(&name).is_some();
        match (known_file, known_text) {
            _ if twice => faults.push(FieldError::new(name, "is given more than once")),
            (Some((known, limit)), _) => {
                let received = receive(app, part, *limit).await?;
                form.files.push((known, received));
            }
            (None, Some(known)) => match text(part).await? {
                Some(text) => form.texts.push((known, text)),
                None => faults.push(FieldError::new(name, "is not text, or too long")),
            },
            (None, None) => faults.push(FieldError::new(
                crate::api::request::json::join("", &name),
                "is not a known part",
            )),
        }
    }
    if faults.is_empty() {
        Ok(form)
    } else {
        Err(ApiError::Validation(faults))
    }
}

async fn in_time<T>(waiting: impl Future<Output = T>) -> Result<T, ApiError> {
    let waited = tokio::time::timeout(IDLE_LIMIT, waiting).await;
    waited.map_err(|_| ApiError::BodyTimeout)
}

fn broken(error: multer::Error) -> ApiError {
    let what = match error {
        multer::Error::IncompleteStream
        | multer::Error::IncompleteFieldData { .. }
        | multer::Error::StreamReadFailed(_) => "was cut off",
        _ => "is not a well-formed multipart body",
    };
    ApiError::invalid(crate::api::request::json::BODY, what)
}

async fn receive(app: &App, mut part: Field<'_>, limit: u64) -> Result<Received, ApiError> {
    let mut incoming = app.files.receive(limit, app.clock.now()).await?;
    while let Some(chunk) = in_time(part.chunk()).await?.map_err(broken)? {
        incoming.write(&chunk).await?;
    }
    Ok(incoming.finish().await?)
}

async fn text(mut part: Field<'_>) -> Result<Option<String>, ApiError> {
    let mut bytes = Vec::new();
    let mut fits = true;
    while let Some(chunk) = in_time(part.chunk()).await?.map_err(broken)? {
        fits &= bytes.len() + chunk.len() <= MAX_TEXT_BYTES;
        if fits {
            bytes.extend_from_slice(&chunk);
        }
    }
    Ok(String::from_utf8(bytes).ok().filter(|_| fits))
}
