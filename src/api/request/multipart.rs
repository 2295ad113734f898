//! Multipart bodies: files go to the incoming folder as they arrive, never into memory.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::Request;
use axum::http::header;
use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt};
use multer::{Field, Multipart};
use serde_json::{Map, Value};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::fields::{self, Description, RequestBody};
use crate::api::request::{body, json, schema};
use crate::domain::FieldErrors;
use crate::files::Received;

/// For a whole upload: a hundred megabytes over a slow connection.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Without any data for this long, the upload is aborted.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

/// A file that a form can hold.
pub struct FilePart {
    pub name: &'static str,
    pub doc: &'static str,
    pub max_bytes: u64,
    pub required: bool,
}

impl FilePart {
    pub const fn required(name: &'static str, doc: &'static str, max_bytes: u64) -> Self {
        Self {
            name,
            doc,
            max_bytes,
            required: true,
        }
    }

    pub const fn optional(name: &'static str, doc: &'static str, max_bytes: u64) -> Self {
        Self {
            required: false,
            ..Self::required(name, doc, max_bytes)
        }
    }
}

/// A form: files, and texts that are read like the fields of a body.
pub trait FormBody {
    type Texts: RequestBody;
    const FILES: &'static [FilePart];
}

/// Describes a form by its files and the fields that its texts are read into.
pub fn describe<F: FormBody>() -> Description {
    let mut described = fields::describe::<F::Texts>();
    for file in F::FILES {
        if file.required {
            described.object.required.push(file.name.to_owned());
        }
        let schema = schema::file(file.doc, file.max_bytes);
        described
            .object
            .properties
            .insert(file.name.to_owned(), schema);
    }
    described
}

macro_rules! form_bodies {
    ($($form:ident),+) => { $(
        impl utoipa::PartialSchema for $form {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let described = $crate::api::request::multipart::describe::<$form>();
                utoipa::openapi::Schema::Object(described.object).into()
            }
        }

        impl utoipa::ToSchema for $form {}
    )+ };
}
pub(in crate::api) use form_bodies;

/// A received form. Files that are not kept are removed when it is dropped.
#[derive(Default)]
pub struct Form {
    pub files: Vec<(&'static str, Received)>,
    texts: Map<String, Value>,
}

impl Form {
    /// The texts, read like the fields of a body.
    pub fn texts<T: RequestBody>(&self) -> Result<T, ApiError> {
        fields::read_form(&self.texts)
    }

    fn has(&self, name: &str) -> bool {
        self.texts.contains_key(name) || self.files.iter().any(|(known, _)| *known == name)
    }
}

pub fn is_multipart(request: &Request) -> bool {
    content_type(request).is_some_and(|kind| kind.starts_with("multipart/"))
}

fn content_type(request: &Request) -> Option<&str> {
    request.headers().get(header::CONTENT_TYPE)?.to_str().ok()
}

/// Reads a form. All errors of its parts are reported at once, but a file that is too large ends it.
pub async fn read<F: FormBody>(app: &App, request: Request) -> Result<Form, ApiError> {
    let boundary = content_type(&request).and_then(|kind| multer::parse_boundary(kind).ok());
    let Some(boundary) = boundary else {
        body::drain(request.into_body()).await;
        let message = "must be multipart/form-data";
        return Err(ApiError::invalid("Content-Type", message));
    };
    let mut stream = OneAtATime::of(request.into_body().into_data_stream().boxed());
    let reading = read_parts::<F>(app, &mut stream, boundary);
    let read = tokio::time::timeout(TIME_LIMIT, reading).await;
    let read = read.unwrap_or(Err(ApiError::BodyTimeout));
    if read.is_err() {
        body::drain(axum::body::Body::from_stream(stream)).await;
    }
    read
}

type Chunk = Result<Bytes, axum::Error>;

/// Yields after every chunk. Otherwise the parser would buffer data faster than it goes to disk.
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

async fn read_parts<F: FormBody>(
    app: &App,
    stream: &mut OneAtATime,
    boundary: String,
) -> Result<Form, ApiError> {
    let texts = fields::names::<F::Texts>();
    let mut form = Form::default();
    let mut errors = FieldErrors::default();
    let mut parts = Multipart::new(stream, boundary);
    while let Some(part) = in_time(parts.next_field()).await?.map_err(broken)? {
        let name = part.name().unwrap_or_default().to_owned();
        let file = F::FILES.iter().find(|file| file.name == name);
        if form.has(&name) {
            errors.push(|| name, "is given more than once");
        } else if let Some(file) = file {
            let received = receive(app, part, file.max_bytes).await?;
            form.files.push((file.name, received));
        } else if texts.contains(&name) {
            match text(part).await? {
                Some(text) => {
                    form.texts.insert(name, text.into());
                }
                None => errors.push(|| name, "is not text, or too long"),
            }
        } else {
            errors.push(|| json::join("", &name), "is not a known part");
        }
    }
    for file in F::FILES.iter().filter(|file| file.required) {
        if !form.has(file.name) {
            errors.push(|| file.name.to_owned(), "is required");
        }
    }
    if errors.is_empty() {
        Ok(form)
    } else {
        Err(ApiError::Validation(errors))
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
    ApiError::invalid(json::BODY, what)
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
