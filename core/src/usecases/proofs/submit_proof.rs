//! A worker submits proof: one attempt, with one file for each proof type of the task.

use crate::ambient;
use crate::domain::{
    Action, Actor, Environment, NotAllowed, Owner, Proof, QueueItem, QueueItemId, QueueKind,
    StorageQuota, Submission, Task, TaskId, Timestamp, WorkerId,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::proofs::evidence;
use crate::usecases::tasks::transition::{self, Cause};

/// Records a submission for a task that this transaction has locked. One with a known name returns the
/// proofs recorded before. Also returns whether it is new, so that its files are needed.
pub fn submit_proof(
    tx: &mut Tx<'_>,
    task: &Task,
    worker: WorkerId,
    submission: &Submission,
    now: Timestamp,
) -> Result<(Vec<Proof>, bool), UseCaseError> {
    if let Some(name) = &submission.submission_id
        && let Some(attempt) = tx.submission(task.id, worker, name)?
    {
        return Ok((tx.proofs_of_attempt(task.id, attempt)?, false));
    }
    let moved = task.act(Action::SubmitProof, now)?;
    let task = &moved.task;
    let proofs = submission.proofs(task, worker, now);
    let by = match task.owner.environment {
        Environment::Live => Actor::worker(worker),
        Environment::Test => Actor::simulated_worker(worker),
    };
    let cause = Cause {
        proof: proofs.first(),
        ..by.into()
    };
    transition::write(tx, &moved, &cause, now)?;
    take_storage(tx, task, submission)?;
    let environment = task.owner.environment;
    for proof in &proofs {
        if environment == Environment::Live {
            flag_if_suspect(tx, proof, now)?;
        }
        tx.insert_proof(proof, environment)?;
    }
    if let Some(name) = &submission.submission_id {
        tx.add_submission(task.id, worker, name, task.proof_attempts)?;
    }
    Ok((proofs, true))
}

/// Counts the files in the totals of the developer, which the move has locked.
fn take_storage(tx: &mut Tx<'_>, task: &Task, submission: &Submission) -> Result<(), UseCaseError> {
    let (tier, _) = tx.storage(task.owner)?.ok_or(UseCaseError::TaskNotFound)?;
    let limit_bytes = limit_of_submissions(task.owner, submission.quota.of(tier));
    if !tx.take_storage(task.owner, submission.stored_bytes(), limit_bytes)? {
        return Err(UseCaseError::StorageFull { limit_bytes });
    }
    Ok(())
}

/// The proof of a live task is always taken: the work is done, and the worker is to be paid. There the
/// limit holds for new tasks.
fn limit_of_submissions(owner: Owner, quota: u64) -> u64 {
    match owner.environment {
        Environment::Live => u64::MAX,
        Environment::Test => quota,
    }
}

/// Whether an account may create live tasks: its storage is not full.
pub fn has_storage(tx: &mut Tx<'_>, owner: Owner, quota: StorageQuota) -> Result<(), UseCaseError> {
    let Some((tier, used)) = tx.storage(owner)? else {
        return Ok(());
    };
    let limit_bytes = quota.of(tier);
    if u64::try_from(used).unwrap_or(0) < limit_bytes {
        Ok(())
    } else {
        Err(UseCaseError::StorageFull { limit_bytes })
    }
}

/// What is known of a submission before its body is read.
#[derive(Clone, Debug)]
pub struct Expected {
    pub task: Task,
    /// Why the task takes no new proof. A submission that was recorded before can be repeated all
    /// the same, so its id and the hashes of its files are read, and nothing is stored.
    pub refused: Option<NotAllowed>,
    /// What is left of the developer's storage, and all of it.
    pub storage_left: u64,
    pub storage_limit: u64,
}

/// Refuses a submission before its body is read, if it cannot be recorded and cannot be a repeat.
pub fn expect_submission(
    tx: &mut Tx<'_>,
    task: Task,
    worker: WorkerId,
    quota: StorageQuota,
    now: Timestamp,
) -> Result<Expected, UseCaseError> {
    let refused = task.act(Action::SubmitProof, now).err();
    if let Some(refused) = refused
        && !tx.has_attempts(task.id, worker)?
    {
        return Err(refused.into());
    }
    let (tier, used) = tx.storage(task.owner)?.ok_or(UseCaseError::TaskNotFound)?;
    let limit_bytes = limit_of_submissions(task.owner, quota.of(tier));
    let storage_left = limit_bytes.saturating_sub(u64::try_from(used).unwrap_or(0));
    if storage_left == 0 && refused.is_none() {
        return Err(UseCaseError::StorageFull { limit_bytes });
    }
    Ok(Expected {
        task,
        refused,
        storage_left,
        storage_limit: limit_bytes,
    })
}

/// Whether this worker's submission was already recorded under its name. Refuses a new one if the task
/// accepts no proof now. Call it before inspecting files, which may take a while.
pub fn submission_was_made(
    tx: &mut Tx<'_>,
    task: &Task,
    worker: WorkerId,
    name: Option<&str>,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    if let Some(name) = name
        && tx.submission(task.id, worker, name)?.is_some()
    {
        return Ok(true);
    }
    task.act(Action::SubmitProof, now)?;
    Ok(false)
}

/// How many tasks with the same photo a note names.
const NAMED: usize = 3;

/// A proof of a live task from far away, or with a photo that was sent before, is for an admin to look at.
fn flag_if_suspect(tx: &mut Tx<'_>, proof: &Proof, now: Timestamp) -> Result<(), UseCaseError> {
    let same = evidence::tasks_with_same_photo(tx, proof, Environment::Live)?;
    if same.is_empty() && !proof.is_suspect() {
        return Ok(());
    }
    let note = same_photo_note(proof, &same);
    let item = QueueItemId::new(now, &ambient::random_for_id());
    tx.add_queue_item(&QueueItem {
        task: Some(proof.task),
        worker: Some(proof.worker),
        note,
        ..QueueItem::new(item, QueueKind::FlaggedProof, proof.id, now)
    })?;
    Ok(())
}

fn same_photo_note(proof: &Proof, tasks: &[TaskId]) -> Option<String> {
    let others: Vec<_> = tasks.iter().filter(|task| **task != proof.task).collect();
    if tasks.is_empty() {
        return None;
    }
    if others.is_empty() {
        return Some("The same photo was sent with an earlier attempt.".to_owned());
    }
    let named = others.iter().take(NAMED).map(|task| task.to_string());
    let named = named.collect::<Vec<_>>().join(", ");
    Some(format!("The same photo was sent for other tasks: {named}."))
}
