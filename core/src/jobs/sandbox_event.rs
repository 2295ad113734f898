//! Delivers events of the sandbox processor, as a real processor would over HTTP.

use super::{Done, Failure, Jobs};
use crate::store::ClaimedJob;
use crate::usecases;

pub async fn deliver(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let (id, clock) = (job.name.subject.clone(), jobs.clock.clone());
    let receive = jobs
        .store
        .write(move |tx| usecases::receive_sandbox_event(tx, &id, clock.now()));
    receive.await?;
    Ok(Done::Finished)
}
