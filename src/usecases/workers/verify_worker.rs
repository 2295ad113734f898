//! Worker verification: workers upload documents, admins decide.

use serde_json::json;

use crate::ambient;
use crate::domain::events::notification::{self, NotificationText};
use crate::domain::{
    Action, Actor, HeldBecause, JobKind, JobName, NotificationKind, QueueItem, QueueItemId,
    QueueKind, Status, Timestamp, VerificationFile, Worker, WorkerId, WorkerStatus,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::{audit, review_queue};
use crate::usecases::events::announce::announcement;
use crate::usecases::events::notify;
use crate::usecases::tasks::transition::{self, Cause};

/// Also asked before the documents are read.
pub fn may_send_documents(worker: &Worker) -> Result<(), UseCaseError> {
    match worker.status {
        WorkerStatus::Unverified | WorkerStatus::InReview => Ok(()),
        _ => refuse(worker, "be verified"),
    }
}

/// A worker uploads documents. New documents replace those from before, which are returned: their files
/// are to be deleted.
pub fn send_verification(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    files: &[VerificationFile],
    now: Timestamp,
) -> Result<(Worker, Vec<VerificationFile>), UseCaseError> {
    let worker = held(tx, worker)?;
    may_send_documents(&worker)?;
    let replaced = tx.put_verification_files(worker.id, files, now)?;
    let id = QueueItemId::new(now, &ambient::random_for_id());
    tx.add_queue_item(&QueueItem {
        worker: Some(worker.id),
        ..QueueItem::new(id, QueueKind::WorkerVerification, worker.id, now)
    })?;
    let worker = set(tx, worker, WorkerStatus::InReview, now)?;
    Ok((worker, replaced))
}

pub fn verify_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let worker = held(tx, worker)?;
    if worker.status == WorkerStatus::Verified {
        return refuse(&worker, "be verified");
    }
    let worker = decided(tx, worker, WorkerStatus::Verified, by, now)?;
    let name = JobName::new(JobKind::AnnounceWorker, announcement(worker.id, None));
    tx.add_job(&name, now)?;
    notify_worker(
        tx,
        &worker,
        NotificationKind::WorkerVerified,
        notification::verified(),
        now,
    )?;
    audited(tx, by, "worker.verified", worker, json!({}), now)
}

/// The documents were not sufficient. The worker may upload others.
pub fn refuse_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let worker = held(tx, worker)?;
    if worker.status != WorkerStatus::InReview {
        return refuse(&worker, "be refused");
    }
    let worker = decided(tx, worker, WorkerStatus::Unverified, by, now)?;
    notify_worker(
        tx,
        &worker,
        NotificationKind::WorkerRefused,
        notification::refused(),
        now,
    )?;
    audited(tx, by, "worker.refused", worker, json!({}), now)
}

pub fn suspend_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let worker = held(tx, worker)?;
    if worker.status == WorkerStatus::Suspended {
        return refuse(&worker, "be suspended");
    }
    // Closes the item even if an admin has claimed it.
    let (kind, subject) = (QueueKind::WorkerVerification, worker.id.to_string());
    tx.close_queue_items_of(kind, &subject, by.id.as_deref(), now)?;
    let worker = set(tx, worker, WorkerStatus::Suspended, now)?;
    let released = give_tasks_back(tx, worker.id, by, now)?;
    let details = json!({ "released_tasks": released });
    audited(tx, by, "worker.suspended", worker, details, now)
}

/// Releases the tasks that the worker has not finished. Submitted proofs stay in review. What is
/// earned is held until the worker is restored.
fn give_tasks_back(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: &Actor,
    now: Timestamp,
) -> Result<Vec<String>, UseCaseError> {
    let mut tasks = Vec::new();
    // Lock order: all tasks before the first totals.
    for id in tx.tasks_in_hand(worker)? {
        let task = tx.any_task_to_change(id)?;
        tasks.extend(task.filter(|task| task.worker == Some(worker) && in_hand(task.status)));
    }
    tasks.sort_by_key(|task| (task.owner.account.to_string(), task.id.to_string()));
    let cause = Cause {
        reason: Some("the worker was suspended"),
        ..by.clone().into()
    };
    for task in &tasks {
        transition::make(tx, task, Action::Release, &cause, now)?;
    }
    Ok(tasks.iter().map(|task| task.id.to_string()).collect())
}

fn in_hand(status: Status) -> bool {
    matches!(
        status,
        Status::Assigned | Status::InProgress | Status::ProofRejected
    )
}

/// Restores the previous status: verified or unverified. Payouts that were held are made.
pub fn restore_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let worker = held(tx, worker)?;
    if worker.status != WorkerStatus::Suspended {
        return refuse(&worker, "be restored");
    }
    let status = match worker.verified_at {
        Some(_) => WorkerStatus::Verified,
        None => WorkerStatus::Unverified,
    };
    let worker = set(tx, worker, status, now)?;
    tx.wake_jobs(&HeldBecause::WorkerSuspended.waits_for(worker.id), now)?;
    audited(tx, by, "worker.restored", worker, json!({}), now)
}

/// Comes last in the transaction.
fn audited(
    tx: &mut Tx<'_>,
    by: &Actor,
    action: &str,
    worker: Worker,
    details: serde_json::Value,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    audit(
        tx,
        by,
        action,
        "worker",
        &worker.id.to_string(),
        details,
        now,
    )?;
    Ok(worker)
}

/// Each decision is an occasion of its own.
fn notify_worker(
    tx: &mut Tx<'_>,
    worker: &Worker,
    kind: NotificationKind,
    text: NotificationText,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let occasion = format!("{kind}:{}:{}", worker.id, now.as_millis());
    notify::worker(tx, worker.id, kind, occasion, text, now)
}

fn held(tx: &mut Tx<'_>, worker: WorkerId) -> Result<Worker, UseCaseError> {
    tx.worker_to_change(worker)?
        .ok_or(UseCaseError::WorkerNotFound)
}

fn refuse<T>(worker: &Worker, what: &'static str) -> Result<T, UseCaseError> {
    Err(UseCaseError::InvalidWorkerState {
        status: worker.status,
        what,
    })
}

fn decided(
    tx: &mut Tx<'_>,
    worker: Worker,
    status: WorkerStatus,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let (kind, subject) = (QueueKind::WorkerVerification, worker.id.to_string());
    if let Some(item) = review_queue::decidable_item(tx, kind, &subject, by, now)? {
        review_queue::close(tx, &item, None, by, now)?;
    }
    set(tx, worker, status, now)
}

fn set(
    tx: &mut Tx<'_>,
    mut worker: Worker,
    status: WorkerStatus,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let from = worker.status;
    worker.status = status;
    worker.updated_at = now;
    if status == WorkerStatus::Verified {
        worker.verified_at = worker.verified_at.or(Some(now));
    }
    if from != status {
        tx.set_worker_status(&worker, from)?;
    }
    Ok(worker)
}
