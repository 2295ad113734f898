//! Dead jobs: retried, or, for a payout, written off.

use serde_json::json;

use crate::domain::{
    Actor, Entry, JobKind, JobName, QueueItem, QueueKind, Task, TaskId, Timestamp,
};
use crate::store::{ListedJob, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::{audit, review_queue};

/// The review queue items that a decision about this job closes.
const fn kinds(job: JobKind) -> &'static [QueueKind] {
    match job {
        JobKind::Transfer => &[QueueKind::FailedPayout, QueueKind::TransferReversed],
        JobKind::Refund => &[QueueKind::RefundFailed],
        _ => &[],
    }
}

/// The open items about a job. Fails if another admin has claimed one.
fn items(
    tx: &mut Tx<'_>,
    name: &JobName,
    by: &Actor,
    now: Timestamp,
) -> Result<Vec<QueueItem>, UseCaseError> {
    let mut items = Vec::new();
    for kind in kinds(name.kind) {
        let item = review_queue::decidable_item(tx, *kind, &name.subject, by, now)?;
        items.extend(item);
    }
    Ok(items)
}

/// Makes a dead job due again. For a payout or a refund, this also closes its review queue items.
pub fn retry_job(
    tx: &mut Tx<'_>,
    name: &JobName,
    by: &Actor,
    now: Timestamp,
) -> Result<ListedJob, UseCaseError> {
    let payout = name.kind == JobKind::Transfer;
    let items = items(tx, name, by, now)?;
    if !tx.retry_job(name, now)? {
        return Err(UseCaseError::JobNotFound);
    }
    for item in &items {
        review_queue::close(tx, item, None, by, now)?;
    }
    let job = tx.job(name)?.ok_or(UseCaseError::JobNotFound)?;
    let (action, subject, id) = match payout {
        true => ("payout.retried", "task", name.subject.clone()),
        false => ("job.retried", "job", name.to_string()),
    };
    audit(tx, by, action, subject, &id, json!({}), now)?;
    Ok(job)
}

/// Retries a transfer that failed permanently.
pub fn retry_payout(
    tx: &mut Tx<'_>,
    id: TaskId,
    by: &Actor,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let task = tx
        .any_task_to_change(id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    match retry_job(tx, &transfer(id), by, now) {
        Err(UseCaseError::JobNotFound) => Err(UseCaseError::PayoutNotFailed),
        Err(error) => Err(error),
        Ok(_) => Ok(task),
    }
}

/// Writes off a transfer that failed permanently: the platform keeps what is owed. Only a dead job may be
/// dropped, because a live one may be about to move the money.
pub fn write_off_payout(
    tx: &mut Tx<'_>,
    id: TaskId,
    by: &Actor,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let task = tx
        .any_task_to_change(id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    let subject = id.to_string();
    let items = items(tx, &transfer(id), by, now)?;
    let cents = tx.ledger_of_task(id)?.owed_payout_cents();
    if cents <= 0 || !tx.drop_dead_job(&transfer(id))? {
        return Err(UseCaseError::PayoutNotFailed);
    }
    tx.post(&Entry::write_off(&task, cents, now))?;
    for item in &items {
        review_queue::close(tx, item, None, by, now)?;
    }
    let details = json!({"amount_cents": cents});
    audit(tx, by, "payout.written_off", "task", &subject, details, now)?;
    Ok(task)
}

fn transfer(id: TaskId) -> JobName {
    JobName::new(JobKind::Transfer, id)
}
