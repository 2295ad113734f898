//! Bytes of an upload as they arrive.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;

use super::protocol::{Checksum, Chunk};
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::limits::uploads::{Reserved, Sender, UploadPermit};
use crate::api::request::multipart::announced;
use crate::api::request::multipart::pace::Arriving;
use crate::api::request::multipart::reader::{Fault, Source as _};
use crate::api::request::{body, json};
use crate::domain::proofs::uploads::BYTES_A_DAY;
use crate::domain::{Upload, UploadId, WorkerId};
use crate::submission::{SubmissionError, Writing};
use crate::usecases::UseCaseError;

/// For one request. The sender goes on with the next.
const TIME_LIMIT: Duration = Duration::from_secs(60 * 60);

/// Stores the bytes of a request. It goes on when the sender is gone, so that what has arrived is kept.
pub async fn receive(
    app: &App,
    worker: WorkerId,
    id: UploadId,
    chunk: Chunk,
    request: Request,
) -> Result<Upload, ApiError> {
    let begun = begin(app, worker, id, &chunk, announced(&request)).await;
    let receiving = match begun {
        Ok(begun) => begun,
        Err(error) => return Err(body::refuse(error, request).await),
    };
    let receiving = receiving.run(app.clone(), request.into_body(), chunk.checksum);
    let received = tokio::spawn(receiving).await;
    received.unwrap_or(Err(ApiError::Panicked))
}

/// What is decided before the body is read.
struct Receiving {
    writing: Writing,
    reserved: Reserved,
    _permit: UploadPermit,
}

async fn begin(
    app: &App,
    worker: WorkerId,
    id: UploadId,
    chunk: &Chunk,
    announced: Option<u64>,
) -> Result<Receiving, ApiError> {
    let mut writing = app.resumable.resume(worker, id, chunk.offset).await?;
    let missing = writing.upload().missing_bytes();
    if announced.is_some_and(|bytes| bytes > missing) {
        let limit = writing.upload().new.size_bytes.unsigned_abs();
        return Err(ApiError::FileTooLarge { limit });
    }
    if chunk.checksum.is_some() {
        writing = writing.all_at_once();
    }
    let permit = app.uploads.acquire(Sender::Worker(worker)).await?;
    let bytes = announced.unwrap_or(missing);
    let reserved = Reserved::new(app, worker, bytes, BYTES_A_DAY).await?;
    Ok(Receiving {
        writing,
        reserved,
        _permit: permit,
    })
}

/// Why no more bytes are read.
enum End {
    Whole,
    Fault(Fault),
    /// Another request goes on with the upload.
    TakenOver,
    /// The server stops, or this took too long.
    Stopped,
}

impl Receiving {
    async fn run(
        mut self,
        app: App,
        body: Body,
        mut checksum: Option<Checksum>,
    ) -> Result<Upload, ApiError> {
        let received = &self.reserved.received;
        let mut arriving = Arriving::new(body, app.timeouts.upload, received);
        let reading = read(&app, &mut arriving, &mut self.writing, &mut checksum);
        let end = match tokio::time::timeout(TIME_LIMIT, reading).await {
            Ok(Ok(end)) => end,
            Ok(Err(error)) => {
                body::drain(arriving.body).await;
                return Err(error.into());
            }
            Err(_) => End::Stopped,
        };
        match (checksum, &end) {
            (None, _) => {}
            (Some(checksum), End::Whole) => checksum.check()?,
            // Nobody knows whether these bytes are right.
            (Some(_), _) => return Err(refused(end, &self.writing)),
        }
        let upload = self.writing.store().await?.clone();
        match end {
            End::Whole => Ok(upload),
            end => Err(refused(end, &self.writing)),
        }
    }
}

async fn read(
    app: &App,
    arriving: &mut Arriving<'_>,
    writing: &mut Writing,
    checksum: &mut Option<Checksum>,
) -> Result<End, SubmissionError> {
    loop {
        let bytes = tokio::select! {
            next = arriving.next() => match next {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(End::Whole),
                Err(fault) => return Ok(End::Fault(fault)),
            },
            () = writing.wanted_by_another() => return Ok(End::TakenOver),
            () = app.shutdown.started() => return Ok(End::Stopped),
        };
        if let Some(checksum) = checksum {
            checksum.update(&bytes);
        }
        writing.write(&bytes).await?;
    }
}

fn refused(end: End, writing: &Writing) -> ApiError {
    match end {
        End::Fault(Fault::TooSlow) => ApiError::BodyTimeout,
        End::TakenOver => {
            let offset = writing.upload().received_bytes;
            UseCaseError::OffsetMismatch { offset }.into()
        }
        End::Stopped => ApiError::Busy,
        _ => ApiError::invalid(json::BODY, "was cut off"),
    }
}
