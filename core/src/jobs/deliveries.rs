//! Gives up the deliveries of a removed endpoint, and makes failed ones due again, a page at a time.

use super::{Done, Failure, Jobs};
use crate::store::ClaimedJob;
use crate::usecases;

pub async fn give_up(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    loop {
        let (subject, clock) = (job.name.subject.clone(), jobs.clock.clone());
        let page = jobs
            .store
            .write(move |tx| usecases::give_up_deliveries(tx, &subject, clock.now()));
        if !page.await? {
            return jobs.finish(job).await;
        }
    }
}

pub async fn recover(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let mut after = Some(0);
    while let Some(number) = after {
        let (subject, clock) = (job.name.subject.clone(), jobs.clock.clone());
        let page = jobs
            .store
            .write(move |tx| usecases::recover_page(tx, &subject, number, clock.now()));
        after = page.await?;
    }
    jobs.finish(job).await
}
