//! Makes a task visible to workers that was posted before the index of posted tasks existed.

use super::{Done, Failure, Jobs, task_id};
use crate::domain::Status;
use crate::store::ClaimedJob;

pub async fn post(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let id = task_id(job)?;
    jobs.record(job, move |tx, _| {
        let task = tx.any_task_to_change(id)?;
        if let Some(task) = task.filter(|task| task.status == Status::Posted) {
            tx.hold_totals(task.owner)?;
            tx.post_task(&task)?;
        }
        Ok(())
    })
    .await
}
