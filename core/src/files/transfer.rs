//! Copies files from one place to another, and compares what arrived.

use futures_util::StreamExt;

use super::{FileKey, Files, FilesError};
use crate::domain::Timestamp;
use crate::domain::accounts::api_key::hex;
use crate::domain::sha256::Sha256;

/// Copies a file under the same key, unless it is there already, reads it back, and compares size and
/// SHA-256. Returns its size; none if there is no such file to copy.
pub async fn copy_file(
    from: &Files,
    to: &Files,
    key: FileKey,
    content_type: &str,
    now: Timestamp,
) -> Result<Option<u64>, FilesError> {
    let Some(size) = from.size(key).await? else {
        return Ok(None);
    };
    let here = sha256(from, key, size).await?;
    let is_there = to.size(key).await? == Some(size) && sha256(to, key, size).await? == here;
    if !is_there {
        upload(from, to, key, (content_type, size, now)).await?;
        let arrived = to.size(key).await? == Some(size) && sha256(to, key, size).await? == here;
        if !arrived {
            let reason = format!("{key} reads differently from what was stored");
            return Err(FilesError::Unavailable(reason));
        }
    }
    Ok(Some(size))
}

async fn upload(
    from: &Files,
    to: &Files,
    key: FileKey,
    (content_type, size, now): (&str, u64, Timestamp),
) -> Result<(), FilesError> {
    let mut incoming = to.receive(size, now).await?;
    let mut chunks = from.read(key, 0..size).await?;
    while let Some(chunk) = chunks.next().await {
        incoming.write(&chunk?).await?;
    }
    let received = incoming.finish().await?;
    to.keep(received, key, content_type).await.map(drop)
}

async fn sha256(files: &Files, key: FileKey, size: u64) -> Result<String, FilesError> {
    let mut hash = Sha256::new();
    let mut chunks = files.read(key, 0..size).await?;
    while let Some(chunk) = chunks.next().await {
        hash.update(&chunk?);
    }
    Ok(hex(&hash.finish()))
}
