//! A developer approves or rejects an attempt: all of its proofs together.

use super::Refusal;
use super::act::{self, Cause};
use crate::domain::{
    Action, By, Proof, ProofId, ProofStatus, Task, TaskId, Timestamp, task::MAX_PROOF_ATTEMPTS,
};
use crate::store::{KeyHolder, Tx};

/// A review made: the proof that was named, and the task as it stands now.
#[derive(Clone, Debug)]
pub struct Reviewed {
    pub proof: Proof,
    pub task: Task,
}

impl Reviewed {
    pub fn attempts_remaining(&self) -> i64 {
        MAX_PROOF_ATTEMPTS - self.task.proof_attempts
    }
}

/// A malformed proof id is none: it is not found, after the task was.
pub fn approve_proof(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    task: TaskId,
    proof: Option<ProofId>,
    now: Timestamp,
) -> Result<Reviewed, Refusal> {
    review(tx, by, task, proof, None, now)
}

pub fn reject_proof(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    task: TaskId,
    proof: Option<ProofId>,
    reason: &str,
    now: Timestamp,
) -> Result<Reviewed, Refusal> {
    review(tx, by, task, proof, Some(reason), now)
}

/// A rejection has a reason, an approval has none.
fn review(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    task: TaskId,
    proof: Option<ProofId>,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<Reviewed, Refusal> {
    let now = by.time(now);
    let task = tx
        .task_to_change(by.owner, task)?
        .ok_or(Refusal::TaskNotFound)?;
    let proof = proof.ok_or(Refusal::ProofNotFound)?;
    let mut proof = tx.proof(task.id, proof)?.ok_or(Refusal::ProofNotFound)?;
    let (action, status) = match reason {
        None => (Action::Approve, ProofStatus::Approved),
        Some(_) => (Action::Reject, ProofStatus::Rejected),
    };
    // The state of the task is looked at first: it says more than that of the proof.
    let moved = task.act(action, now)?;
    if proof.status != ProofStatus::Pending || proof.attempt_number != task.proof_attempts {
        return Err(Refusal::ProofReviewed);
    }
    tx.review_attempt(task.id, proof.attempt_number, status, reason, now)?;
    tx.count_review(proof.worker, reason.is_none())?;
    proof.status = status;
    proof.rejection_reason = reason.map(str::to_owned);
    proof.reviewed_at = Some(now);
    let cause = Cause {
        by: By::developer(by.key),
        reason,
        proof: Some(&proof),
    };
    act::write(tx, &moved, &cause, now)?;
    let task = moved.task;
    Ok(Reviewed { proof, task })
}

/// Approves what nobody has reviewed.
pub(super) fn approve_unreviewed(
    tx: &mut Tx<'_>,
    task: &Task,
    cause: &Cause<'_>,
    now: Timestamp,
) -> Result<(), Refusal> {
    let status = ProofStatus::Approved;
    tx.review_attempt(task.id, task.proof_attempts, status, None, now)?;
    if let Some(worker) = task.worker {
        tx.count_review(worker, true)?;
    }
    act::make(tx, task, Action::Approve, cause, now)?;
    Ok(())
}
