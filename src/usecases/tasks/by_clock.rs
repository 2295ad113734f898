//! Moves tasks whose deadline has passed, through the same table of moves.

use crate::domain::{Action, Actor, QueueKind, TaskId, Timestamp, Windows};
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
    let Some((_, action)) = task.next_by_clock(windows).filter(|(at, _)| *at <= now) else {
        return Ok(false);
    };
    let cause = Cause {
        reason: Some(action.why_by_clock()),
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
    }
    Ok(true)
}
