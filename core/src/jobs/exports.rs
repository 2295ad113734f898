//! Makes an export of a person's data, one part after the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::{Done, Failure, Jobs};
use crate::domain::ExportId;
use crate::domain::exports::{ExportPart, ExportStatus};
use crate::exports::{self, ExportError, PartMaker};
use crate::files::FilesError;
use crate::store::ClaimedJob;
use crate::usecases;

/// A server makes one part at a time, and lets one more wait. The others come back later, so that they do
/// not take the places of payments.
#[derive(Clone)]
pub struct Exporting {
    places: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

const PLACES: usize = 2;
const COME_BACK_AFTER: Duration = Duration::from_secs(5);

impl Default for Exporting {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(PLACES)),
            turn: Arc::new(Semaphore::new(1)),
        }
    }
}

/// Makes a part, stores it, and queues a job for the next one. What an interrupted attempt has stored is
/// found by the file sweep.
pub async fn make_part(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let (id, number) = place(&job.name.subject)?;
    let Ok(_place) = jobs.exporting.places.try_acquire() else {
        return Ok(Done::Waits {
            waits_for: None,
            recheck_after: COME_BACK_AFTER,
        });
    };
    let _turn = jobs.exporting.turn.acquire().await;
    let export = jobs.store.read(move |tx| tx.export(id)).await?;
    let preparing = export.filter(|export| export.status == ExportStatus::Preparing);
    let Some(export) = preparing else {
        return jobs.finish(job).await;
    };
    let maker = PartMaker {
        store: &jobs.store,
        files: &jobs.files,
        clock: &jobs.clock,
        limits: jobs.export_limits,
    };
    let made = exports::make_part(maker, &export, number).await?;
    let part = ExportPart {
        number,
        key: made.stored.key.to_string(),
        size_bytes: i64::try_from(made.stored.size).unwrap_or(i64::MAX),
        sha256: made.stored.sha256,
    };
    let next = made.next;
    jobs.record(job, move |tx, now| {
        usecases::export_part_made(tx, &export, &part, next.as_deref(), now)
    })
    .await
}

fn place(subject: &str) -> Result<(ExportId, i64), Failure> {
    let read = || {
        let (id, number) = subject.split_once('/')?;
        Some((ExportId::parse(id)?, number.parse().ok()?))
    };
    read().ok_or_else(|| Failure::Permanent("malformed job subject".to_owned()))
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::UseCase(error) => error.into(),
            ExportError::Files(FilesError::Unavailable(reason)) => Self::Unavailable(reason),
            error => Self::Unexpected(error.to_string()),
        }
    }
}
