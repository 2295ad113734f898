//! A developer cancels a task.

use crate::domain::{Action, Actor, Task, TaskId, Timestamp};
use crate::store::{KeyHolder, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::tasks::transition;

/// Cancels a task. With `expected_refund_cents`, only if that is what goes back to the developer: a
/// worker may have accepted since the developer looked.
pub fn cancel_task(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    id: TaskId,
    expected_refund_cents: Option<i64>,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let now = by.time(now);
    let task = tx
        .task_to_move(by.owner, id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    let moved = task.act(Action::Cancel, now)?;
    let refund_cents = moved.settlement.refund_cents;
    if let Some(expected_cents) = expected_refund_cents.filter(|cents| *cents != refund_cents) {
        return Err(UseCaseError::RefundDiffers {
            refund_cents,
            expected_cents,
        });
    }
    transition::write(tx, &moved, &Actor::developer(by.key).into(), now)?;
    Ok(moved.task)
}
