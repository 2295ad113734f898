//! The headers of tus 1.0.

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest;
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::api::error::ApiError;
use crate::domain::proofs::uploads::upload::LARGEST;
use crate::domain::{FieldErrors, NewUpload, ProofType, TaskId, Upload};
use crate::usecases::UseCaseError;

pub const OCTETS: &str = "application/offset+octet-stream";
const VERSION: &str = "1.0.0";

pub const OFFSET: HeaderName = HeaderName::from_static("upload-offset");
pub const LENGTH: HeaderName = HeaderName::from_static("upload-length");
pub const METADATA: HeaderName = HeaderName::from_static("upload-metadata");
const EXPIRES: HeaderName = HeaderName::from_static("upload-expires");
const CHECKSUM: HeaderName = HeaderName::from_static("upload-checksum");
const RESUMABLE: HeaderName = HeaderName::from_static("tus-resumable");

const MAX_METADATA_BYTES: usize = 2_048;

/// What this server speaks. Needs no token: it is the same for everybody.
pub async fn discover() -> Response {
    let headers = [
        ("tus-version", VERSION.to_owned()),
        (
            "tus-extension",
            "creation,creation-with-upload,termination,checksum,expiration".to_owned(),
        ),
        ("tus-max-size", LARGEST.to_string()),
        ("tus-checksum-algorithm", "sha1,sha256".to_owned()),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "describes a header")]
pub struct TusHeader {
    /// The version of the protocol.
    #[param(rename = "Tus-Resumable", pattern = r"^1\.0\.0$")]
    tus_resumable: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "describes headers")]
pub struct CreationHeaders {
    /// How many bytes the file has.
    #[param(rename = "Upload-Length", maximum = 100_000_000)]
    upload_length: u64,
    /// `task_id` and `proof_type`, each followed by a space and its value in base64, separated by commas. Others
    /// are kept and not used.
    #[param(rename = "Upload-Metadata", max_length = 2048)]
    upload_metadata: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "describes headers")]
pub struct ChunkHeaders {
    /// How many bytes there are already.
    #[param(rename = "Upload-Offset", maximum = 100_000_000)]
    upload_offset: u64,
    /// `sha1` or `sha256`, a space, and the digest of the body in base64.
    #[param(
        rename = "Upload-Checksum",
        pattern = "^(sha1 [A-Za-z0-9+/]{27}=|sha256 [A-Za-z0-9+/]{43}=)$",
        required = false,
        nullable = false
    )]
    upload_checksum: Option<String>,
}

/// The body of a request that sends bytes.
pub struct Bytes;

impl PartialSchema for Bytes {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)))
            .into()
    }
}

impl ToSchema for Bytes {}

pub fn said(text: &str) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

pub fn expires(upload: &Upload) -> (HeaderName, HeaderValue) {
    (EXPIRES, said(&upload.expires_at.http_date()))
}

pub fn check_version(headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get(RESUMABLE) {
        Some(version) if version == VERSION => Ok(()),
        _ => Err(ApiError::TusVersion),
    }
}

/// Why a number in a header cannot be read.
fn number(headers: &HeaderMap, name: &HeaderName) -> Result<i64, &'static str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or("is required")?;
    let text = value.to_str().unwrap_or_default();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits && values.next().is_none() => Ok(number),
        // More than any file has.
        Err(_) if digits => Ok(i64::MAX),
        _ => Err("must be a whole number"),
    }
}

/// What the headers say about a file that is to be sent.
pub fn new_upload(headers: &HeaderMap) -> Result<NewUpload, ApiError> {
    check_version(headers)?;
    let mut errors = FieldErrors::default();
    let mut wrong = |field: &str, message: &str| errors.push(|| field.to_owned(), message);
    let length = number(headers, &LENGTH);
    let length = length.map_err(|message| wrong("Upload-Length", message));
    let metadata = headers.get(METADATA).map(HeaderValue::to_str);
    let metadata = metadata.unwrap_or(Ok("")).unwrap_or_default();
    if metadata.len() > MAX_METADATA_BYTES {
        wrong("Upload-Metadata", "must be at most 2048 bytes");
    }
    let task = value(metadata, "task_id").map_err(|message| wrong("task_id", message));
    let proof_type = value(metadata, "proof_type")
        .map_err(str::to_owned)
        .and_then(|word| ProofType::rule(&word))
        .map_err(|message| wrong("proof_type", &message));
    let (Ok(size_bytes), Ok(task), Ok(proof_type), true) = (
        length,
        task,
        proof_type,
        metadata.len() <= MAX_METADATA_BYTES,
    ) else {
        return Err(ApiError::Validation(errors));
    };
    let limit = proof_type.max_bytes();
    if size_bytes.unsigned_abs() > limit {
        return Err(ApiError::FileTooLarge { limit });
    }
    Ok(NewUpload {
        task: TaskId::parse(&task).ok_or(UseCaseError::TaskNotFound)?,
        proof_type,
        size_bytes,
        metadata: metadata.to_owned(),
        name: None,
    })
}

/// A value of `Upload-Metadata`.
fn value(metadata: &str, key: &str) -> Result<String, &'static str> {
    let mut pairs = metadata.split(',').map(|pair| {
        let pair = pair.trim_matches(' ');
        pair.split_once(' ').unwrap_or((pair, ""))
    });
    let (_, value) = pairs
        .find(|(name, _)| *name == key)
        .ok_or("is required in Upload-Metadata")?;
    let bytes = STANDARD.decode(value).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or("must be in base64")
}

/// What the headers say about the bytes of a request.
pub struct Chunk {
    pub offset: i64,
    pub checksum: Option<Checksum>,
}

impl Chunk {
    /// The bytes that come with the creation, if any do.
    pub fn first(headers: &HeaderMap) -> Option<Result<Self, ApiError>> {
        is_octets(headers).then(|| {
            let checksum = checksum(headers)?;
            Ok(Self {
                offset: 0,
                checksum,
            })
        })
    }

    /// Those of a PATCH.
    pub fn next(headers: &HeaderMap) -> Result<Self, ApiError> {
        check_version(headers)?;
        if !is_octets(headers) {
            return Err(ApiError::MediaType);
        }
        let offset = number(headers, &OFFSET);
        let offset = offset.map_err(|message| ApiError::invalid("Upload-Offset", message))?;
        let checksum = checksum(headers)?;
        Ok(Self { offset, checksum })
    }
}

fn is_octets(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(OCTETS.as_bytes()))
}

/// What the bytes of a request must add up to.
pub struct Checksum {
    context: digest::Context,
    expected: Vec<u8>,
}

impl Checksum {
    pub fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
    }

    pub fn check(self) -> Result<(), ApiError> {
        match self.context.finish().as_ref() == self.expected {
            true => Ok(()),
            false => Err(ApiError::ChecksumMismatch),
        }
    }
}

fn checksum(headers: &HeaderMap) -> Result<Option<Checksum>, ApiError> {
    let Some(value) = headers.get(CHECKSUM) else {
        return Ok(None);
    };
    let faulty = || {
        let message = "must be sha1 or sha256, a space, and the digest in base64";
        ApiError::invalid("Upload-Checksum", message)
    };
    let text = value.to_str().map_err(|_| faulty())?;
    let (name, digest) = text.split_once(' ').ok_or_else(faulty)?;
    let algorithm = match name {
        "sha1" => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        "sha256" => &digest::SHA256,
        _ => return Err(faulty()),
    };
    let expected = STANDARD.decode(digest).map_err(|_| faulty())?;
    if expected.len() != algorithm.output_len() {
        return Err(faulty());
    }
    let context = digest::Context::new(algorithm);
    Ok(Some(Checksum { context, expected }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_pairs_of_a_name_and_a_value_in_base64() {
        let metadata = "filename YS5qcGc=,task_id MDE=, proof_type cGhvdG8=,is_private";
        assert_eq!(value(metadata, "task_id"), Ok("01".to_owned()));
        assert_eq!(value(metadata, "proof_type"), Ok("photo".to_owned()));
        assert_eq!(value(metadata, "is_private"), Ok(String::new()));
        assert_eq!(
            value(metadata, "task"),
            Err("is required in Upload-Metadata")
        );
        assert_eq!(value("task_id %%", "task_id"), Err("must be in base64"));
        assert_eq!(value("task_id /w==", "task_id"), Err("must be in base64"));
    }

    #[test]
    fn a_number_is_digits_alone() {
        let read = |text: &str| {
            let headers = HeaderMap::from_iter([(LENGTH, said(text))]);
            number(&headers, &LENGTH)
        };
        assert_eq!(read("0"), Ok(0));
        assert_eq!(read("99999999999999999999999"), Ok(i64::MAX));
        for text in ["", "-1", "+1", "1.0", "1e3", " ", "0x10"] {
            assert_eq!(read(text), Err("must be a whole number"), "{text:?}");
        }
        assert_eq!(number(&HeaderMap::new(), &LENGTH), Err("is required"));
    }
}
