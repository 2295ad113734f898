//! A worker sends proof: one attempt, with one file for each type that the task asks for.

use super::Refusal;
use super::act::{self, Cause};
use crate::ambient;
use crate::domain::{
    Action, By, Environment, Proof, QueueItem, QueueItemId, QueueKind, Submission, Task, Timestamp,
    WorkerId,
};
use crate::store::Tx;

/// Records a submission to a task that this transaction holds; one that was recorded before, under
/// the sender's own name for it, is answered again. Tells whether the files are needed.
pub fn submit_proof(
    tx: &mut Tx<'_>,
    task: &Task,
    worker: WorkerId,
    submission: &Submission,
    now: Timestamp,
) -> Result<(Vec<Proof>, bool), Refusal> {
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
        ..By::worker(worker).into()
    };
    act::write(tx, &moved, &cause, now)?;
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

fn flag(tx: &mut Tx<'_>, proof: &Proof, now: Timestamp) -> Result<(), Refusal> {
    let item = QueueItemId::new(now, &ambient::random_for_id());
    tx.add_queue_item(&QueueItem {
        task: Some(proof.task),
        worker: Some(proof.worker),
        ..QueueItem::new(item, QueueKind::FlaggedProof, proof.id, now)
    })?;
    Ok(())
}
