//! Jobs that follow when an account is suspended, restored or deleted.

use super::{Done, Failure, Jobs};
use crate::domain::AccountId;
use crate::files::FileKey;
use crate::store::ClaimedJob;
use crate::usecases::{self, ErasedPage};

/// Shows or hides a page of posted tasks. The rest gets its own job.
pub async fn show_tasks(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let subject = job.name.subject.clone();
    jobs.record(job, move |tx, now| {
        usecases::show_posted_tasks(tx, &subject, now)
    })
    .await
}

/// Erases a page of tasks of a deleted account, files first, and queues a job for the rest. After
/// the last task it erases everything else. An interrupted step is repeated.
pub async fn erase(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let subject = job.name.subject.clone();
    let read = jobs
        .store
        .snapshot(move |tx| usecases::page_to_erase(tx, &subject));
    match read.await? {
        ErasedPage::Tasks { files, page } => {
            delete_files(jobs, &files).await?;
            jobs.record(job, move |tx, now| usecases::erase_page(tx, &page, now))
                .await
        }
        ErasedPage::Rest(account) => erase_rest(jobs, job, account).await,
    }
}

/// Missing files are fine.
async fn delete_files(jobs: &Jobs, files: &[String]) -> Result<(), Failure> {
    for key in files.iter().filter_map(|key| FileKey::parse(key)) {
        let deleted = jobs.files.delete(key).await;
        deleted.map_err(|error| Failure::Unavailable(error.to_string()))?;
    }
    Ok(())
}

async fn erase_rest(jobs: &Jobs, job: &ClaimedJob, account: AccountId) -> Result<Done, Failure> {
    while jobs
        .store
        .write(move |tx| usecases::erase_traces(tx, account))
        .await?
    {}
    jobs.record(job, move |tx, now| {
        usecases::erase_account(tx, account, now)
    })
    .await
}

/// Whether the address is known is found out here, and not by whoever asked.
pub async fn send_link(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let subject = job.name.subject.clone();
    jobs.record(job, move |tx, now| {
        usecases::send_requested_link(tx, &subject, now)
    })
    .await
}
