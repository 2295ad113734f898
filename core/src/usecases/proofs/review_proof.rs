//! A developer approves or rejects an attempt, with all of its proofs.

use crate::domain::events::notification;
use crate::domain::{
    Action, Actor, NotificationKind, Owner, Proof, ProofId, ProofStatus, Status, Task, TaskId,
    Timestamp,
};
use crate::store::{KeyHolder, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::events::notify;
use crate::usecases::proofs::evidence::proof_of;
use crate::usecases::tasks::transition::{self, Cause};

/// A review: the proof that was named, and the task afterwards.
#[derive(Clone, Debug)]
pub struct Reviewed {
    pub proof: Proof,
    pub task: Task,
}

impl Reviewed {
    pub fn attempts_remaining(&self) -> i64 {
        self.task.attempts_left()
    }
}

/// A malformed proof id counts as not found, but only after the task was found.
pub fn approve_proof(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    task: TaskId,
    proof: Option<ProofId>,
    now: Timestamp,
) -> Result<Reviewed, UseCaseError> {
    review(tx, by, task, proof, None, now)
}

pub fn reject_proof(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    task: TaskId,
    proof: Option<ProofId>,
    reason: &str,
    now: Timestamp,
) -> Result<Reviewed, UseCaseError> {
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
) -> Result<Reviewed, UseCaseError> {
    let now = by.time(now);
    let task = tx
        .task_to_change(by.owner, task)?
        .ok_or(UseCaseError::TaskNotFound)?;
    let refusal = by
        .limits
        .and_then(|limits| limits.refuses_review(task.budget_cents));
    if let Some(refusal) = refusal {
        return Err(UseCaseError::MandateExceeded(vec![refusal]));
    }
    let mut proof = proof_of(tx, task.id, proof)?;
    let (action, status) = match reason {
        None => (Action::Approve, ProofStatus::Approved),
        Some(_) => (Action::Reject, ProofStatus::Rejected),
    };
    // Check the task first: its status says more than the proof's.
    let moved = task.act(action, now)?;
    if proof.status != ProofStatus::Pending || proof.attempt_number != task.proof_attempts {
        return Err(UseCaseError::ProofReviewed);
    }
    tx.review_attempt(task.id, proof.attempt_number, status, reason, now)?;
    proof.status = status;
    proof.rejection_reason = reason.map(str::to_owned);
    proof.reviewed_at = Some(now);
    let cause = Cause {
        by: Actor::developer(by.key),
        reason,
        proof: Some(&proof),
    };
    transition::write(tx, &moved, &cause, now)?;
    let task = moved.task;
    Ok(Reviewed { proof, task })
}

/// Tells the owner that proof waits for a person, because a key may not review it. Once for each attempt.
pub fn tell_of_review(
    tx: &mut Tx<'_>,
    owner: Owner,
    task: TaskId,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let task = tx.task_of(owner, task)?;
    let waits = |task: &Task| task.status == Status::ProofSubmitted;
    let Some(task) = task.filter(waits) else {
        return Ok(());
    };
    let occasion = format!("review:{}:{}", task.id, task.proof_attempts);
    let (kind, words) = (
        NotificationKind::ReviewNeeded,
        notification::review_needed(&task),
    );
    notify::developer(tx, owner.account, kind, occasion, words, now)
}

/// Approves the proofs of an attempt that was not reviewed in time.
pub(in crate::usecases) fn approve_unreviewed(
    tx: &mut Tx<'_>,
    task: &Task,
    cause: &Cause<'_>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let status = ProofStatus::Approved;
    tx.review_attempt(task.id, task.proof_attempts, status, None, now)?;
    transition::make(tx, task, Action::Approve, cause, now)?;
    Ok(())
}
