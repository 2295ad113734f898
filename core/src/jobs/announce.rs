//! Announcements to many recipients, page by page.

use super::{Done, Failure, Jobs, task_id};
use crate::store::ClaimedJob;
use crate::usecases::{self, AcceptTerms};

pub async fn bounty(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let id = task_id(job)?;
    let terms = AcceptTerms {
        processor: jobs.processor.name(),
        checked_skills: jobs.checked_skills.clone(),
    };
    let mut after = None;
    loop {
        let (from, clock, terms) = (after, jobs.clock.clone(), terms.clone());
        let page = jobs
            .store
            .write(move |tx| usecases::announce_bounty(tx, id, &terms, from, clock.now()));
        after = page.await?;
        if after.is_none() {
            return jobs.finish(job).await;
        }
    }
}

pub async fn worker(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let (subject, checked) = (job.name.subject.clone(), jobs.checked_skills.clone());
    jobs.record(job, move |tx, now| {
        usecases::announce_worker(tx, &subject, &checked, now)
    })
    .await
}
