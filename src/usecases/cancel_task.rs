//! A developer calls a task off.

use super::Refusal;
use crate::domain::{Action, Owner, Task, TaskId, Timestamp};
use crate::store::Tx;

pub fn cancel_task(
    tx: &mut Tx<'_>,
    owner: Owner,
    id: TaskId,
    now: Timestamp,
) -> Result<Task, Refusal> {
    let moved = tx
        .task_to_change(owner, id)?
        .ok_or(Refusal::TaskNotFound)?
        .act(Action::Cancel, now)?;
    tx.move_task(&moved)?;
    Ok(moved.task)
}
