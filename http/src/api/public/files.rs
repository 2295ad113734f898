//! /files/...: stored files, by signed URL.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use futures_util::StreamExt as _;

use crate::api::App;
use crate::api::error::ApiError;
use crate::files::{FilesError, Prefix, SignatureError};
use crate::limits::ClientAddress;

/// What a browser may do with a file: show it, and nothing else.
const SANDBOX: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

pub async fn get(
    State(app): State<App>,
    client: ClientAddress,
    request: Request,
) -> Result<Response<Body>, ApiError> {
    let path = request.uri().path();
    let key = path.strip_prefix("/files/").unwrap_or_default();
    let query = request.uri().query().unwrap_or_default();
    let file = app
        .files
        .check(key, query, app.clock.now())
        .map_err(|error| match error {
            SignatureError::Expired => ApiError::UrlExpired,
            SignatureError::Altered => ApiError::UrlInvalid,
        })?;
    let permit = app.file_limits.acquire(client)?;
    let size = app.files.size(file.key).await?;
    let size = size.ok_or(FilesError::NotFound)?;
    let range = match wanted(request.headers(), size) {
        Ok(range) => range,
        Err(()) => return Ok(unsatisfiable(size)),
    };
    let (start, end) = range.unwrap_or((0, size));
    let stream = app.files.read(file.key, start..end).await?;
    let stream = stream.inspect(move |_| {
        let _held_until_the_end = &permit;
    });
    let mut response = Response::new(Body::from_stream(stream));
    let headers = response.headers_mut();
    let is_archive = file.key.prefix() == Prefix::Exports;
    let content_type = HeaderValue::try_from(file.content_type);
    headers.insert(
        header::CONTENT_TYPE,
        content_type.unwrap_or(HeaderValue::from_static("application/octet-stream")),
    );
    headers.insert(header::CONTENT_LENGTH, (end - start).into());
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_SECURITY_POLICY, SANDBOX);
    headers.insert(
        header::CONTENT_DISPOSITION,
        HeaderValue::from_static(match is_archive {
            true => "attachment; filename=\"legwork-export.zip\"",
            false => "inline",
        }),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("private, max-age=3600"),
    );
    if range.is_some() {
        let value = format!("bytes {start}-{}/{size}", end - 1);
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(header::CONTENT_RANGE, value);
        }
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

fn unsatisfiable(size: u64) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
    if let Ok(value) = HeaderValue::try_from(format!("bytes */{size}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, value);
    }
    response
}

/// The range that is asked for, as start and end; none for the whole file. Several ranges at once are
/// answered with the whole, as a server may, and so is `If-Range`: no file has a tag or a date that could match.
fn wanted(headers: &HeaderMap, size: u64) -> Result<Option<(u64, u64)>, ()> {
    if headers.contains_key(header::IF_RANGE) {
        return Ok(None);
    }
    let text = headers
        .get(header::RANGE)
        .and_then(|value| value.to_str().ok());
    let Some(spec) = text.and_then(|text| text.strip_prefix("bytes=")) else {
        return Ok(None);
    };
    let Some((first, last)) = spec.split_once('-').filter(|_| !spec.contains(',')) else {
        return Ok(None);
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (start, end) = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => (first, last.saturating_add(1).min(size)),
        (Some(first), None) if last.trim().is_empty() => (first, size),
        (None, Some(last)) if first.trim().is_empty() => (size.saturating_sub(last), size),
        _ => return Ok(None),
    };
    if start < end {
        Ok(Some((start, end)))
    } else {
        Err(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Result<Option<(u64, u64)>, ()> {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::try_from(text).unwrap());
        wanted(&headers, 1_000)
    }

    #[test]
    fn a_range_of_another_version_is_the_whole() {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_static("bytes=0-99"));
        headers.insert(header::IF_RANGE, HeaderValue::from_static("\"other\""));
        assert_eq!(wanted(&headers, 1_000), Ok(None));
    }

    #[test]
    fn ranges_are_read_as_clients_write_them() {
        assert_eq!(range("bytes=0-99"), Ok(Some((0, 100))));
        assert_eq!(range("bytes=900-"), Ok(Some((900, 1_000))));
        assert_eq!(range("bytes=-100"), Ok(Some((900, 1_000))));
        assert_eq!(range("bytes=0-99999999999"), Ok(Some((0, 1_000))));
        assert_eq!(range("bytes=1000-"), Err(()));
        assert_eq!(range("bytes=-0"), Err(()));
        for whole in [
            "bytes=5-4",
            "bytes=a-b",
            "bytes=0-1,5-6",
            "lines=0-1",
            "bytes=-",
        ] {
            assert_eq!(range(whole), Ok(None), "{whole}");
        }
    }
}
