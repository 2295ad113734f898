//! Workers are verified: their documents go to the admins, who decide.

use serde_json::json;

use super::announce::announcement;
use super::{Refusal, audit, notify, queue};
use crate::ambient;
use crate::domain::notice::{self, Words};
use crate::domain::{
    AdminKeyId, By, JobKind, JobName, NoticeKind, QueueItem, QueueItemId, QueueKind, Timestamp,
    VerificationFile, Worker, WorkerId, WorkerStatus,
};
use crate::store::Tx;

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
    record(tx, worker, by, "worker.verified", now)
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
    record(tx, worker, by, "worker.refused", now)
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
    // It does not wait for whoever is looking at the documents.
    let (subject, admin) = (worker.id.to_string(), by.to_string());
    let kind = QueueKind::WorkerVerification;
    tx.close_queue_items_of(kind, &subject, Some(&admin), now)?;
    let worker = set(tx, worker, WorkerStatus::Suspended, now)?;
    record(tx, worker, by, "worker.suspended", now)
}

/// One who was verified is verified again; anybody else may send documents.
pub fn restore_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: AdminKeyId,
    now: Timestamp,
) -> Result<Worker, Refusal> {
    let worker = held(tx, worker)?;
    if worker.status != WorkerStatus::Suspended {
        return refuse(&worker, "be restored");
    }
    let status = match worker.verified_at {
        Some(_) => WorkerStatus::Verified,
        None => WorkerStatus::Unverified,
    };
    let worker = set(tx, worker, status, now)?;
    record(tx, worker, by, "worker.restored", now)
}

fn record(
    tx: &mut Tx<'_>,
    worker: Worker,
    by: AdminKeyId,
    action: &str,
    now: Timestamp,
) -> Result<Worker, Refusal> {
    let (by, id) = (By::admin(by), worker.id.to_string());
    audit(tx, &by, action, "worker", &id, json!({}), now)?;
    Ok(worker)
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
    let (subject, by) = (worker.id.to_string(), By::admin(by));
    let kind = QueueKind::WorkerVerification;
    if let Some(item) = queue::decidable_item(tx, kind, &subject, &by, now)? {
        queue::close(tx, &item, None, &by, now)?;
    }
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
        worker.verified_at = worker.verified_at.or(Some(now));
    }
    Ok(worker)
}
