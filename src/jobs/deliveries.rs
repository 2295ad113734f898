//! Gives up the deliveries of a removed endpoint, a page at a time.

use super::{Done, Failure, Jobs};
use crate::store::ClaimedJob;
use crate::usecases;

pub async fn give_up(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    loop {
        let subject = job.name.subject.clone();
        let page = jobs
            .store
            .write(move |tx| usecases::give_up_deliveries(tx, &subject));
        if !page.await? {
            return jobs.finish(job).await;
        }
    }
}
