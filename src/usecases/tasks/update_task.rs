//! A developer edits a task that is not paid for yet.

use crate::domain::{Task, TaskEdit, TaskId, Timestamp};
use crate::store::{KeyHolder, Tx};
use crate::usecases::UseCaseError;

pub fn update_task(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    id: TaskId,
    edit: &TaskEdit,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let task = tx
        .task_to_change(by.owner, id)?
        .ok_or(UseCaseError::TaskNotFound)?
        .edit(edit, by.time(now))?;
    tx.edit_task(&task)?;
    Ok(task)
}
