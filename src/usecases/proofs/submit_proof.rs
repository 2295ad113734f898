//! A worker submits proof: one attempt, with one file for each proof type of the task.

use crate::ambient;
use crate::domain::{
    Action, Actor, Environment, Proof, QueueItem, QueueItemId, QueueKind, Submission, Task,
    Timestamp, WorkerId,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::tasks::transition::{self, Cause};

/// Records a submission for a task that this transaction has locked. A submission with a known
/// `submission_id` returns the proofs recorded before. Also returns whether the new files are
/// needed.
pub fn submit_proof(
    tx: &mut Tx<'_>,
    task: &Task,
    worker: WorkerId,
    submission: &Submission,
    now: Timestamp,
) -> Result<(Vec<Proof>, bool), UseCaseError> {
    if let Some(name) = &submission.submission_id
        && let Some(attempt) = tx.submission(task.id, name)?
    {
        return Ok((tx.proofs_of_attempt(task.id, attempt)?, false));
    }
    let moved = task.act(Action::SubmitProof, now)?;
    let task = &moved.task;
    let proofs = submission.proofs(task, worker, now);
    let cause = Cause {
        proof: proofs.first(),
        ..Actor::worker(worker).into()
    };
    transition::write(tx, &moved, &cause, now)?;
    for proof in &proofs {
        tx.insert_proof(proof)?;
        if task.owner.environment == Environment::Live && proof.is_suspect() {
            flag(tx, proof, now)?;
        }
    }
    if let Some(name) = &submission.submission_id {
        tx.add_submission(task.id, name, task.proof_attempts)?;
    }
    Ok((proofs, true))
}

/// Whether a submission with this id was already recorded. Refuses a new one if the task accepts no
/// proof now. Call it before inspecting files, which may take a while.
pub fn submission_was_made(
    tx: &mut Tx<'_>,
    task: &Task,
    name: Option<&str>,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    let attempt = match name {
        Some(name) => tx.submission(task.id, name)?,
        None => None,
    };
    if attempt.is_none() {
        task.act(Action::SubmitProof, now)?;
    }
    Ok(attempt.is_some())
}

fn flag(tx: &mut Tx<'_>, proof: &Proof, now: Timestamp) -> Result<(), UseCaseError> {
    let item = QueueItemId::new(now, &ambient::random_for_id());
    tx.add_queue_item(&QueueItem {
        task: Some(proof.task),
        worker: Some(proof.worker),
        ..QueueItem::new(item, QueueKind::FlaggedProof, proof.id, now)
    })?;
    Ok(())
}
