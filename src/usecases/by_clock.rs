//! What nobody did in time is done by the clock: the same moves, through the same table.

use super::act::{self, Cause};
use super::{Refusal, review_proof};
use crate::domain::{Action, By, QueueKind, TaskId, Timestamp, Windows};
use crate::store::Tx;

/// Does to a task what its time has come for; false when there is nothing to do, or not any more.
pub fn act_by_clock(
    tx: &mut Tx<'_>,
    id: TaskId,
    windows: &Windows,
    now: Timestamp,
) -> Result<bool, Refusal> {
    let Some(task) = tx.any_task_to_change(id)? else {
        return Ok(false);
    };
    let Some((_, action)) = task.next_by_clock(windows).filter(|(at, _)| *at <= now) else {
        return Ok(false);
    };
    let cause = Cause {
        reason: Some(action.why_by_clock()),
        ..By::CLOCK.into()
    };
    match action {
        Action::Approve => review_proof::approve_unreviewed(tx, &task, &cause, now)?,
        action => {
            act::make(tx, &task, action, &cause, now)?;
        }
    }
    if action == Action::DecideRefund {
        tx.close_queue_items_of(QueueKind::Dispute, &id.to_string(), None, now)?;
    }
    Ok(true)
}
