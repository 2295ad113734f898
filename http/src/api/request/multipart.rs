//! Multipart bodies: files go to the incoming folder as they arrive, never into memory.

pub mod pace;
pub mod reader;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::header;
use ring::digest;
use serde_json::{Map, Value};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::fields::{self, Description, RequestBody};
use crate::api::request::{body, json, schema};
use crate::domain::FieldErrors;
use crate::domain::accounts::api_key;
use crate::files::Received;
use pace::Arriving;
use reader::{Fault, MAX_HEAD_BYTES, MAX_OUTSIDE_BYTES, MAX_PARTS, Reader};

/// For a whole upload: a hundred megabytes over a slow connection.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);
pub const MAX_TEXT_BYTES: usize = 16 * 1024;
/// What a form may have beside its files: heads of parts, and texts.
const MAX_OVERHEAD_BYTES: u64 = 2 * MAX_OUTSIDE_BYTES as u64
    + MAX_PARTS as u64 * (MAX_HEAD_BYTES + 100) as u64
    + 8 * MAX_TEXT_BYTES as u64;

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
    /// The SHA-256 of each file, of those too that were not stored.
    hashes: Vec<(&'static str, String)>,
    texts: Map<String, Value>,
}

impl Form {
    /// The texts, read like the fields of a body.
    pub fn texts<T: RequestBody>(&self) -> Result<T, ApiError> {
        fields::read_form(&self.texts)
    }

    /// The texts, and in place of each file its hash.
    pub fn meaning(&self) -> Map<String, Value> {
        let hashes = self.hashes.iter();
        let hashes = hashes.map(|(name, hash)| ((*name).to_owned(), hash.as_str().into()));
        self.texts.clone().into_iter().chain(hashes).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.texts.contains_key(name) || self.hashes.iter().any(|(known, _)| *known == name)
    }
}

pub fn is_multipart(request: &Request) -> bool {
    const MULTIPART: &str = "multipart/";
    let start = content_type(request).and_then(|kind| kind.get(..MULTIPART.len()));
    start.is_some_and(|start| start.eq_ignore_ascii_case(MULTIPART))
}

fn content_type(request: &Request) -> Option<&str> {
    request.headers().get(header::CONTENT_TYPE)?.to_str().ok()
}

/// The size that the sender has announced.
pub fn announced(request: &Request) -> Option<u64> {
    request.body().size_hint().exact()
}

/// What of a form is taken.
pub struct Wanted {
    /// The names of the files. Others are refused.
    files: Vec<&'static str>,
    /// Whether the files are stored. Otherwise they are read for their hashes only.
    stored: bool,
    max_bytes: u64,
    /// The answer to a larger body.
    too_large: ApiError,
}

impl Wanted {
    /// These files of a form, and its texts.
    pub fn files<F: FormBody>(names: impl Fn(&str) -> bool) -> Self {
        let files = F::FILES.iter().filter(|file| names(file.name));
        let sizes = files.clone().map(|file| file.max_bytes);
        Self {
            files: files.map(|file| file.name).collect(),
            stored: true,
            max_bytes: sizes.clone().sum::<u64>() + MAX_OVERHEAD_BYTES,
            // A form that is larger than all its files may be has a file that is too large.
            too_large: ApiError::FileTooLarge {
                limit: sizes.max().unwrap_or_default(),
            },
        }
    }

    /// Only the texts matter, and which files they are.
    pub fn without_storing(self) -> Self {
        let stored = false;
        Self { stored, ..self }
    }

    /// No more than so many bytes of files, for a reason.
    pub fn at_most(self, bytes: u64, too_large: ApiError) -> Self {
        let max_bytes = bytes.saturating_add(MAX_OVERHEAD_BYTES);
        if max_bytes >= self.max_bytes {
            return self;
        }
        Self {
            max_bytes,
            too_large,
            ..self
        }
    }

    /// How many bytes to expect: those that are announced, or else as many as are allowed. Refuses a
    /// body that is announced as too large.
    pub fn expect(&self, announced: Option<u64>) -> Result<u64, ApiError> {
        match announced {
            Some(bytes) if bytes > self.max_bytes => Err(self.too_large.clone()),
            Some(bytes) => Ok(bytes),
            None => Ok(self.max_bytes),
        }
    }
}

/// Reads a form. All errors of its parts are reported at once, but a file that is too large ends it.
/// `received` counts every byte as it comes.
pub async fn read<F: FormBody>(
    app: &App,
    request: Request,
    wanted: &Wanted,
    received: &AtomicU64,
) -> Result<Form, ApiError> {
    let Some(boundary) = content_type(&request).and_then(reader::boundary) else {
        body::drain(request.into_body()).await;
        let message = "must be multipart/form-data";
        return Err(ApiError::invalid("Content-Type", message));
    };
    let mut arriving = Arriving::new(request.into_body(), app.timeouts.upload, received);
    let parts = Reader::new(&mut arriving, &boundary, wanted.max_bytes);
    let reading = read_parts::<F>(app, parts, wanted);
    let read = tokio::time::timeout(TIME_LIMIT, reading).await;
    let read = read.unwrap_or(Err(ApiError::BodyTimeout));
    if read.is_err() {
        body::drain(arriving.body).await;
    }
    read
}

async fn read_parts<F: FormBody>(
    app: &App,
    mut parts: Reader<'_, Arriving<'_>>,
    wanted: &Wanted,
) -> Result<Form, ApiError> {
    let texts = fields::names::<F::Texts>();
    let mut form = Form::default();
    let mut errors = FieldErrors::default();
    let refused = |fault| refused(fault, wanted);
    while let Some(name) = parts.next_part().await.map_err(refused)? {
        let file = F::FILES.iter().find(|file| file.name == name);
        if form.has(&name) {
            errors.push(|| name, "is given more than once");
        } else if let Some(file) = file {
            if !wanted.files.contains(&file.name) {
                errors.push(|| name, "is not a proof type of this task");
            } else if wanted.stored {
                let received = receive(app, &mut parts, file.max_bytes, wanted).await?;
                form.hashes.push((file.name, received.sha256().to_owned()));
                form.files.push((file.name, received));
            } else {
                let hash = hash(&mut parts).await.map_err(refused)?;
                form.hashes.push((file.name, hash));
            }
        } else if texts.contains(&name) {
            match text(&mut parts).await.map_err(refused)? {
                Some(text) => {
                    form.texts.insert(name, text.into());
                }
                None => errors.push(|| name, "is not text, or too long"),
            }
        } else {
            errors.push(|| json::join("", &name), "is not a known part");
        }
    }
    let required = F::FILES.iter().filter(|file| file.required);
    for file in required.filter(|file| wanted.stored && !form.has(file.name)) {
        errors.push(|| file.name.to_owned(), "is required");
    }
    if errors.is_empty() {
        Ok(form)
    } else {
        Err(ApiError::Validation(errors))
    }
}

fn refused(fault: Fault, wanted: &Wanted) -> ApiError {
    match fault {
        Fault::CutOff => ApiError::invalid(json::BODY, "was cut off"),
        Fault::Malformed(what) => ApiError::invalid(json::BODY, what),
        Fault::TooSlow => ApiError::BodyTimeout,
        Fault::TooLarge => wanted.too_large.clone(),
    }
}

async fn receive(
    app: &App,
    parts: &mut Reader<'_, Arriving<'_>>,
    limit: u64,
    wanted: &Wanted,
) -> Result<Received, ApiError> {
    let mut incoming = app.files.receive(limit, app.clock.now()).await?;
    while let Some(chunk) = parts
        .chunk()
        .await
        .map_err(|fault| refused(fault, wanted))?
    {
        incoming.write(&chunk).await?;
    }
    Ok(incoming.finish().await?)
}

async fn hash(parts: &mut Reader<'_, Arriving<'_>>) -> Result<String, Fault> {
    let mut hash = digest::Context::new(&digest::SHA256);
    while let Some(chunk) = parts.chunk().await? {
        hash.update(&chunk);
    }
    Ok(api_key::hex(hash.finish().as_ref()))
}

async fn text(parts: &mut Reader<'_, Arriving<'_>>) -> Result<Option<String>, Fault> {
    let mut bytes = Vec::new();
    let mut fits = true;
    while let Some(chunk) = parts.chunk().await? {
        fits &= bytes.len() + chunk.len() <= MAX_TEXT_BYTES;
        if fits {
            bytes.extend_from_slice(&chunk);
        }
    }
    Ok(String::from_utf8(bytes).ok().filter(|_| fits))
}
