//! Tells owners that a limit of a key is nearly used up.

use super::{Done, Failure, Jobs};
use crate::domain::ApiKeyId;
use crate::store::ClaimedJob;
use crate::usecases;

pub async fn warn(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let key = ApiKeyId::parse(&job.name.subject);
    let key = key.ok_or_else(|| Failure::Permanent("the subject is no key".to_owned()))?;
    jobs.record(job, move |tx, now| usecases::warn_of_limits(tx, key, now))
        .await
}
