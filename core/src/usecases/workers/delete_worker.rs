//! Deletes a worker who has nothing open. Jobs erase what is left.

use serde_json::json;

use crate::domain::people::Person;
use crate::domain::{
    Actor, Environment, JobKind, JobName, ProofId, QueueKind, QueueStatus, Status, TaskId,
    Timestamp, Worker, WorkerId, WorkerStatus,
};
use crate::store::{PayoutState, StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;

/// How many tasks a refusal names.
const NAMED: i64 = 20;
/// Proofs erased in one transaction.
const PROOFS_PAGE: i64 = 100;

/// Erases the profile, the documents, the tokens and the subscriptions at once. Tasks, payouts and the
/// ledger keep the worker's id.
pub fn delete_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    by: &Actor,
    now: Timestamp,
) -> Result<Worker, UseCaseError> {
    let worker = tx
        .worker_to_change(worker)?
        .ok_or(UseCaseError::WorkerNotFound)?;
    let by_themselves = *by == Actor::worker(worker.id);
    match worker.status {
        WorkerStatus::Deleted => return refuse(&worker),
        // Otherwise a suspension would end by signing up again.
        WorkerStatus::Suspended if by_themselves => return refuse(&worker),
        _ => {}
    }
    nothing_open(tx, worker.id)?;
    let subject = worker.id.to_string();
    for kind in [QueueKind::WorkerVerification, QueueKind::SkillCheck] {
        tx.close_queue_items_of(kind, &subject, by.id.as_deref(), now)?;
        tx.erase_note(kind, &subject)?;
    }
    tx.erase_notes_about(&subject)?;
    let person = Person::Worker(worker.id);
    tx.drop_exports_of(person, now)?;
    tx.revoke_sessions(person, None)?;
    tx.void_mail_links(person, now)?;
    tx.drop_factors(person)?;
    let worker = tx.delete_worker(worker, now)?;
    tx.add_job(&JobName::new(JobKind::EraseWorker, worker.id), now)?;
    audit(tx, by, "worker.deleted", "worker", &subject, json!({}), now)?;
    Ok(worker)
}

/// The worker is locked, so no task is accepted meanwhile.
fn nothing_open(tx: &mut Tx<'_>, worker: WorkerId) -> Result<(), UseCaseError> {
    let tasks = tx.open_tasks_of(worker, NAMED)?;
    if !tasks.is_empty() {
        return Err(UseCaseError::WorkerTasksOpen {
            tasks: named(&tasks),
        });
    }
    if tx.worker_balance(worker, Environment::Live)? != 0 {
        let payouts = tx.payouts_of(worker, NAMED)?.into_iter();
        let waiting = payouts
            .filter(|payout| !matches!(payout.state, PayoutState::Paid | PayoutState::WrittenOff));
        let tasks: Vec<TaskId> = waiting.map(|payout| payout.task).collect();
        return Err(UseCaseError::PayoutsOpen {
            tasks: named(&tasks),
        });
    }
    Ok(())
}

fn named(tasks: &[TaskId]) -> String {
    let names: Vec<_> = tasks.iter().map(TaskId::to_string).collect();
    names.join(", ")
}

fn refuse<T>(worker: &Worker) -> Result<T, UseCaseError> {
    Err(UseCaseError::InvalidWorkerState {
        status: worker.status,
        what: "be deleted",
    })
}

/// Erases the next page of a deleted worker's proofs and queues a job for the rest. False when there
/// are no more.
pub fn erase_proofs_of_worker(
    tx: &mut Tx<'_>,
    subject: &str,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    let (worker, after) = place(subject)?;
    let page = tx.proofs_to_erase(worker, &after, PROOFS_PAGE)?;
    for proof in &page {
        // The original says where and with which device it was taken. The developer keeps the file without it.
        if proof.original_key != proof.file_key {
            tx.add_job(&JobName::new(JobKind::DeleteFile, &proof.original_key), now)?;
        }
        tx.erase_proof_of_worker(worker, proof.id, proof.task)?;
        erase_dispute(tx, worker, proof.task)?;
        erase_notes_of_payout(tx, proof.task)?;
    }
    let Some(last) = page.last() else {
        return Ok(false);
    };
    let next = format!("{worker}/{}", last.id);
    tx.add_job(&JobName::new(JobKind::EraseWorker, next), now)?;
    Ok(true)
}

/// Both sides wrote about each other, so what was said in the worker's dispute goes as a whole.
fn erase_dispute(tx: &mut Tx<'_>, worker: WorkerId, task: TaskId) -> Result<(), UseCaseError> {
    let opened = tx.moves_around(task, Status::Disputed, 1)?;
    let by = Actor::worker(worker);
    if opened.first().is_some_and(|opened| opened.by == by) {
        tx.erase_note(QueueKind::Dispute, &task.to_string())?;
        tx.erase_notes_about(&task.to_string())?;
    }
    Ok(())
}

/// What admins wrote about a payout that failed may name the worker. An item that is open has the reason, which is ours.
fn erase_notes_of_payout(tx: &mut Tx<'_>, task: TaskId) -> Result<(), UseCaseError> {
    let subject = task.to_string();
    for kind in [QueueKind::FailedPayout, QueueKind::TransferReversed] {
        let item = tx.queue_item_of(kind, &subject)?;
        if item.is_some_and(|item| item.status == QueueStatus::Closed) {
            tx.erase_note(kind, &subject)?;
            tx.erase_notes_about(&subject)?;
        }
    }
    Ok(())
}

/// Erases some of the worker's notifications and stored responses. Returns whether there may be more.
pub fn erase_traces_of_worker(tx: &mut Tx<'_>, subject: &str) -> Result<bool, UseCaseError> {
    let (worker, _) = place(subject)?;
    Ok(tx.drop_traces_of_worker(worker)?)
}

/// The last step. What a request wrote that had begun before the deletion goes too.
pub fn erase_worker(tx: &mut Tx<'_>, subject: &str, now: Timestamp) -> Result<(), UseCaseError> {
    let (worker, _) = place(subject)?;
    tx.shut_worker_out(worker)?;
    let person = Person::Worker(worker);
    tx.revoke_sessions(person, None)?;
    tx.void_mail_links(person, now)?;
    tx.drop_exports_of(person, now)?;
    tx.drop_factors(person)?;
    tx.drop_verification_files(worker, now)?;
    if tx.worker_erased(worker, now)? {
        let (by, id) = (Actor::CLOCK, worker.to_string());
        audit(tx, &by, "worker.erased", "worker", &id, json!({}), now)?;
    }
    Ok(())
}

/// Parses the subject of a job: the worker, and after the first page the last proof.
fn place(subject: &str) -> Result<(WorkerId, String), UseCaseError> {
    let malformed = || StoreError::Failed("malformed job subject".into());
    let (worker, after) = match subject.split_once('/') {
        Some((worker, after)) => (
            worker,
            ProofId::parse(after).ok_or_else(malformed)?.to_string(),
        ),
        None => (subject, String::new()),
    };
    Ok((WorkerId::parse(worker).ok_or_else(malformed)?, after))
}
