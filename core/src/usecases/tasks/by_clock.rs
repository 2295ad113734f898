//! Moves tasks whose deadline has passed, through the same table of moves.

use crate::domain::proofs::uploads::upload::ALIVE;
use crate::domain::tasks::windows::DEADLINE_PASSED;
use crate::domain::{
    Action, Actor, ProposalKind, QueueKind, Status, Task, TaskId, Timestamp, Windows,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::proofs::review_proof;
use crate::usecases::tasks::transition::{self, Cause};

/// Makes the move that is due for a task. Returns false if none is due, or no longer.
pub fn transition_by_clock(
    tx: &mut Tx<'_>,
    id: TaskId,
    windows: &Windows,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    let Some(task) = tx.any_task_to_change(id)? else {
        return Ok(false);
    };
    let Some((at, action)) = task.next_by_clock(windows).filter(|(at, _)| *at <= now) else {
        return Ok(false);
    };
    if is_held(tx, &task, at, windows, now)? {
        return Ok(false);
    }
    let reason = action.why_by_clock(&task, windows);
    let cause = Cause {
        reason: Some(&reason),
        ..Actor::CLOCK.into()
    };
    match action {
        Action::Approve => review_proof::approve_unreviewed(tx, &task, &cause, now)?,
        action => {
            transition::make(tx, &task, action, &cause, now)?;
        }
    }
    if action == Action::DecideRefund {
        tx.close_queue_items_of(QueueKind::Dispute, &id.to_string(), None, now)?;
        tx.drop_proposal(ProposalKind::Dispute, id)?;
    }
    Ok(true)
}

/// Whether the worker was sending a file when the time was over, and bytes still come. For so long the task
/// is neither released nor expired, unless it takes too long. `due_tasks` in the store says the same.
fn is_held(
    tx: &mut Tx<'_>,
    task: &Task,
    at: Timestamp,
    windows: &Windows,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    let takes_proof = task.act(Action::SubmitProof, now).is_ok();
    let Some(worker) = task.worker.filter(|_| takes_proof) else {
        return Ok(false);
    };
    if at.plus(windows.upload_grace) <= now {
        return Ok(false);
    }
    Ok(tx.upload_holds(task.id, worker, at, now.minus(ALIVE))?)
}

/// Expires a task that waits for its payment although its deadline has passed, so that nobody is
/// charged for it. Returns false if it does not wait, or its deadline has not passed.
pub fn expire_unpaid(tx: &mut Tx<'_>, id: TaskId, now: Timestamp) -> Result<bool, UseCaseError> {
    match tx.any_task_to_move(id)? {
        Some(task) if task.status == Status::Pending && task.is_overdue(now) => {
            expire(tx, &task, now)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Expires a task that this transaction has locked, because its deadline has passed.
pub(in crate::usecases) fn expire(
    tx: &mut Tx<'_>,
    task: &Task,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let cause = Cause {
        reason: Some(DEADLINE_PASSED),
        ..Actor::CLOCK.into()
    };
    transition::make(tx, task, Action::Overdue, &cause, now)
}
