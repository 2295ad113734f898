//! Jobs that follow when a worker is deleted, or when documents are replaced or too old.

use std::time::{Duration, Instant};

use super::{Done, Failure, Jobs};
use crate::files::FileKey;
use crate::store::ClaimedJob;
use crate::usecases;

/// Erases a page of a deleted worker's proofs and queues a job for the rest. After the last one it erases
/// everything else. An interrupted step is repeated.
pub async fn erase(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let subject = job.name.subject.clone();
    let erase = move |subject: &str| {
        let subject = subject.to_owned();
        jobs.store
            .write(move |tx| usecases::erase_traces_of_worker(tx, &subject))
    };
    while erase(&subject).await? {}
    jobs.record(
        job,
        move |tx, now| match usecases::erase_proofs_of_worker(tx, &subject, now)? {
            true => Ok(()),
            false => usecases::erase_worker(tx, &subject, now),
        },
    )
    .await
}

/// Deletes a file that no row names. A missing file is fine. A store that hangs must not keep the places of
/// payments busy, so it is left alone for a while.
pub async fn delete_file(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let malformed = || Failure::Permanent("malformed job subject".to_owned());
    let key = FileKey::parse(&job.name.subject).ok_or_else(malformed)?;
    if jobs.hanging_files.has(&(), Instant::now()) {
        let reason = "the file store did not answer a moment ago";
        return Err(Failure::Unavailable(reason.to_owned()));
    }
    let Ok(deleted) = tokio::time::timeout(DELETED_WITHIN, jobs.files.delete(key)).await else {
        jobs.hanging_files.add((), Instant::now());
        let reason = "the file store does not answer";
        return Err(Failure::Unavailable(reason.to_owned()));
    };
    deleted.map_err(|error| Failure::Unavailable(error.to_string()))?;
    jobs.finish(job).await
}

const DELETED_WITHIN: Duration = Duration::from_secs(5);
