//! Dead jobs that are tried again.

use serde_json::json;

use crate::domain::{Actor, ChargeStanding, JobKind, JobName, Task, TaskId, Timestamp};
use crate::store::{AuditFilter, ListedJob, Tx};
use crate::usecases::admin::audit::{Done, audit_with_note_about};
use crate::usecases::admin::review_queue;
use crate::usecases::admin::unsent::{Unsent, close, items};
use crate::usecases::{self, UseCaseError};

/// The line of the audit log about a payout that is tried again.
const RETRIED: &str = "payout.retried";

/// Makes a dead job due again. For a payout or a refund, this also closes its review queue items, which keep the note.
pub fn retry_job(
    tx: &mut Tx<'_>,
    name: &JobName,
    note: Option<&str>,
    by: &Actor,
    now: Timestamp,
) -> Result<ListedJob, UseCaseError> {
    let payout = name.kind == JobKind::Transfer;
    let items = items(tx, name, by, now)?;
    if !tx.retry_job(name, now)? {
        return Err(UseCaseError::JobNotFound);
    }
    if payout && is_charged_back(tx, name)? {
        tx.pay_charged_back(name)?;
    }
    if let (Some(task), Some(unsent)) = (TaskId::parse(&name.subject), Unsent::by(name.kind)) {
        // Whoever has proposed to close it did so before it was tried again.
        tx.drop_proposal(unsent.proposal, task)?;
    }
    for item in &items {
        review_queue::close(tx, item, note, by, now)?;
    }
    let job = tx.job(name)?.ok_or(UseCaseError::JobNotFound)?;
    let (action, subject, id) = match payout {
        true => (RETRIED, "task", name.subject.clone()),
        false => ("job.retried", "job", name.to_string()),
    };
    let done = Done {
        action,
        subject,
        subject_id: &id,
        details: json!({}),
    };
    // What is noted about a refund goes with its task.
    let note = note.map(|note| (name.subject.as_str(), note));
    audit_with_note_about(tx, by, &done, note, now)?;
    Ok(job)
}

/// Whether the bank took back the payment that a transfer is made from.
fn is_charged_back(tx: &mut Tx<'_>, transfer: &JobName) -> Result<bool, UseCaseError> {
    let Some(task) = TaskId::parse(&transfer.subject) else {
        return Ok(false);
    };
    let standing = usecases::charge_standing(tx, task)?;
    Ok(matches!(standing, ChargeStanding::ChargedBack { .. }))
}

/// Retries a transfer that failed permanently.
pub fn retry_payout(
    tx: &mut Tx<'_>,
    id: TaskId,
    note: Option<&str>,
    by: &Actor,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let task = tx
        .any_task_to_change(id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    match retry_job(tx, &JobName::new(JobKind::Transfer, id), note, by, now) {
        // It does not fail any more: the decision was made, and is sent again.
        Err(UseCaseError::JobNotFound) if was_retried(tx, id)? => Ok(task),
        Err(UseCaseError::JobNotFound) => Err(UseCaseError::PayoutNotFailed),
        Err(error) => Err(error),
        Ok(_) => Ok(task),
    }
}

/// Whether an admin has decided to try it again, and nobody decided otherwise since.
fn was_retried(tx: &mut Tx<'_>, id: TaskId) -> Result<bool, UseCaseError> {
    let filter = AuditFilter {
        subject_id: Some(id.to_string()),
        action: Some(RETRIED.to_owned()),
    };
    let retried = !tx.audit_lines_before(&filter, None, 1)?.is_empty();
    let ledger = tx.ledger_of_task(id)?;
    Ok(retried && !close::is_closed(&Unsent::PAYOUT, &ledger))
}
