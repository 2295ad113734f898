//! A worker changes the profile. What an admin has checked is not changed without another check.

use crate::ambient;
use crate::domain::{
    CheckedSkills, QueueItem, QueueItemId, QueueKind, Timestamp, Worker, WorkerEdit, WorkerId,
    WorkerStatus,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;

pub fn edit_worker(
    tx: &mut Tx<'_>,
    id: WorkerId,
    edit: &WorkerEdit,
    checked: &CheckedSkills,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let before = tx.worker_to_change(id)?;
    let before = before.filter(|worker| !worker.is_deleted());
    let before = before.ok_or(UseCaseError::Unauthorized)?;
    let mut worker = before.edit(edit, now);
    let renamed = worker.pending_name.is_some() && worker.pending_name != before.pending_name;
    expect_free_name(&before, renamed || worker.name != before.name)?;
    tx.edit_worker(&worker)?;
    if renamed {
        worker = review_name(tx, worker, now)?;
    } else if before.pending_name.is_some() && worker.pending_name.is_none() {
        worker = keep_name(tx, worker, now)?;
    }
    let known = matches!(
        worker.status,
        WorkerStatus::Verified | WorkerStatus::InReview
    );
    if known && edit.skills.is_some() {
        review_skills(tx, &worker, checked, now)?;
    }
    Ok(worker)
}

/// An admin who looks at documents decides about the name that was sent with them. Taking back a name that
/// waits for a decision changes nothing that was verified.
fn expect_free_name(worker: &Worker, renamed: bool) -> Result<(), UseCaseError> {
    match worker.status {
        WorkerStatus::Suspended | WorkerStatus::InReview if renamed => {
            Err(UseCaseError::InvalidWorkerState {
                status: worker.status,
                what: "change the name",
            })
        }
        _ => Ok(()),
    }
}

/// The worker goes back to review. Tasks that were accepted go on; others cannot be accepted.
fn review_name(tx: &mut Tx<'_>, worker: Worker, now: Timestamp) -> Result<Worker, UseCaseError> {
    let name = worker.pending_name.as_deref().unwrap_or_default();
    let note = format!("Wants to be called “{name}” instead of “{}”.", worker.name);
    add_item(tx, QueueKind::WorkerVerification, &worker, Some(note), now)?;
    set_status(tx, worker, WorkerStatus::InReview)
}

/// The worker wants the verified name again: there is nothing to decide.
fn keep_name(tx: &mut Tx<'_>, worker: Worker, now: Timestamp) -> Result<Worker, UseCaseError> {
    let (kind, subject) = (QueueKind::WorkerVerification, worker.id.to_string());
    tx.close_queue_items_of(kind, &subject, None, now)?;
    // Documents that were sent for the other name are needed no longer than others.
    tx.documents_decided(worker.id, now)?;
    set_status(tx, worker, WorkerStatus::Verified)
}

fn set_status(
    tx: &mut Tx<'_>,
    mut worker: Worker,
    status: WorkerStatus,
) -> Result<Worker, UseCaseError> {
    let from = worker.status;
    worker.status = status;
    if from != status {
        tx.set_worker_status(&worker, from)?;
    }
    Ok(worker)
}

/// Asks an admin to look at skills that do not count yet.
pub(in crate::usecases) fn review_skills(
    tx: &mut Tx<'_>,
    worker: &Worker,
    checked: &CheckedSkills,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    match worker.unconfirmed_skills(checked).is_empty() {
        true => Ok(()),
        false => add_item(tx, QueueKind::SkillCheck, worker, None, now),
    }
}

fn add_item(
    tx: &mut Tx<'_>,
    kind: QueueKind,
    worker: &Worker,
    note: Option<String>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let id = QueueItemId::new(now, &ambient::random_for_id());
    Ok(tx.add_queue_item(&QueueItem {
        worker: Some(worker.id),
        note,
        ..QueueItem::new(id, kind, worker.id, now)
    })?)
}
