//! Announcements to many recipients, page by page.

use super::{Done, Failure, Jobs, task_id};
use crate::store::ClaimedJob;
use crate::usecases;

pub async fn bounty(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let (id, processor) = (task_id(job)?, jobs.processor.name());
    let mut after = None;
    loop {
        let (from, clock) = (after, jobs.clock.clone());
        let page = jobs
            .store
            .write(move |tx| usecases::announce_bounty(tx, id, processor, from, clock.now()));
        after = page.await?;
        if after.is_none() {
            return jobs.finish(job).await;
        }
    }
}

pub async fn worker(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let subject = job.name.subject.clone();
    jobs.record(job, move |tx, now| {
        usecases::announce_worker(tx, &subject, now)
    })
    .await
}
