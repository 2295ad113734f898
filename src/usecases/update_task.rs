//! A developer rewords a task that nobody has paid for yet.

use super::Refusal;
use crate::domain::{Owner, Task, TaskEdit, TaskId, Timestamp};
use crate::store::Tx;

pub fn update_task(
    tx: &mut Tx<'_>,
    owner: Owner,
    id: TaskId,
    edit: &TaskEdit,
    now: Timestamp,
) -> Result<Task, Refusal> {
    let task = tx
        .task_to_change(owner, id)?
        .ok_or(Refusal::TaskNotFound)?
        .edit(edit, now)?;
    tx.edit_task(&task)?;
    Ok(task)
}
