//! A developer rewords a task that nobody has paid for yet.

use super::Refusal;
use crate::domain::{Task, TaskEdit, TaskId, Timestamp};
use crate::store::{KeyHolder, Tx};

pub fn update_task(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    id: TaskId,
    edit: &TaskEdit,
    now: Timestamp,
) -> Result<Task, Refusal> {
    let task = tx
        .task_to_change(by.owner, id)?
        .ok_or(Refusal::TaskNotFound)?
        .edit(edit, by.time(now))?;
    tx.edit_task(&task)?;
    Ok(task)
}
