//! Workers are verified: their documents go to the admins, who decide.

use super::announce::announcement;
use super::{Refusal, notify};
use crate::ambient;
use crate::domain::notice::{self, Words};
use crate::domain::{
    AdminKeyId, JobKind, JobName, NoticeKind, QueueItem, QueueItemId, QueueKind, Secret, Timestamp,
    VerificationFile, Worker, WorkerId, WorkerStatus,
};
use crate::store::Tx;

/// Finds out who holds an admin key.
pub fn authenticate_admin(tx: &mut Tx<'_>, key: &Secret) -> Result<AdminKeyId, Refusal> {
    tx.admin_key_holder(&key.hash())?
        .ok_or(Refusal::Unauthorized)
}

/// A worker sends documents. While they are in review, new ones replace them.
pub fn send_verification(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    files: &[VerificationFile],
    now: Timestamp,
) -> Result<Worker, Refusal> {
    let worker = held(tx, worker)?;
    let what = "be verified";
    if !matches!(
        worker.status,
        WorkerStatus::Unverified | WorkerStatus::InReview
    ) {
        return refuse(&worker, what);
    }
    tx.put_verification_files(worker.id, files, now)?;
    let id = QueueItemId::new(now, &ambient::random_for_id());
    tx.add_queue_item(&QueueItem {
        worker: Some(worker.id),
        ..QueueItem::new(id, QueueKind::WorkerVerification, worker.id, now)
    })?;
    set(tx, worker, WorkerStatus::InReview, now)
}

pub fn verify_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: AdminKeyId,
    now: Timestamp,
) -> Result<Worker, Refusal> {
    let worker = held(tx, worker)?;
    if worker.status == WorkerStatus::Verified {
        return refuse(&worker, "be verified");
    }
    let worker = decided(tx, worker, WorkerStatus::Verified, by, now)?;
    let name = JobName::new(JobKind::AnnounceWorker, announcement(worker.id, None));
    tx.add_job(&name, now)?;
    tell(
        tx,
        &worker,
        NoticeKind::WorkerVerified,
        notice::verified(),
        now,
    )?;
    Ok(worker)
}

/// The documents were not enough: the worker may send others.
pub fn refuse_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: AdminKeyId,
    now: Timestamp,
) -> Result<Worker, Refusal> {
    let worker = held(tx, worker)?;
    if worker.status != WorkerStatus::InReview {
        return refuse(&worker, "be refused");
    }
    let worker = decided(tx, worker, WorkerStatus::Unverified, by, now)?;
    tell(
        tx,
        &worker,
        NoticeKind::WorkerRefused,
        notice::refused(),
        now,
    )?;
    Ok(worker)
}

pub fn suspend_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: AdminKeyId,
    now: Timestamp,
) -> Result<Worker, Refusal> {
    let worker = held(tx, worker)?;
    if worker.status == WorkerStatus::Suspended {
        return refuse(&worker, "be suspended");
    }
    decided(tx, worker, WorkerStatus::Suspended, by, now)
}

/// Each decision is an occasion of its own.
fn tell(
    tx: &mut Tx<'_>,
    worker: &Worker,
    kind: NoticeKind,
    words: Words,
    now: Timestamp,
) -> Result<(), Refusal> {
    let occasion = format!("{kind}:{}:{}", worker.id, now.as_millis());
    notify::worker(tx, worker.id, kind, occasion, words, now)
}

fn held(tx: &mut Tx<'_>, worker: WorkerId) -> Result<Worker, Refusal> {
    tx.worker_to_change(worker)?.ok_or(Refusal::WorkerNotFound)
}

fn refuse<T>(worker: &Worker, what: &'static str) -> Result<T, Refusal> {
    Err(Refusal::InvalidWorkerState {
        status: worker.status,
        what,
    })
}

fn decided(
    tx: &mut Tx<'_>,
    worker: Worker,
    status: WorkerStatus,
    by: AdminKeyId,
    now: Timestamp,
) -> Result<Worker, Refusal> {
    let subject = worker.id.to_string();
    tx.close_queue_items_of(QueueKind::WorkerVerification, &subject, by, now)?;
    set(tx, worker, status, now)
}

fn set(
    tx: &mut Tx<'_>,
    mut worker: Worker,
    status: WorkerStatus,
    now: Timestamp,
) -> Result<Worker, Refusal> {
    if worker.status != status {
        tx.set_worker_status(&worker, status, now)?;
    }
    worker.status = status;
    worker.updated_at = now;
    if status == WorkerStatus::Verified {
        worker.verified_at = Some(now);
    }
    Ok(worker)
}
