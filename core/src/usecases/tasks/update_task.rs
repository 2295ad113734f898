//! A developer edits a task that is not paid for yet.

use crate::domain::{NotAllowed, Task, TaskEdit, TaskId, Timestamp, Windows};
use crate::store::{KeyHolder, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::tasks::approvals;

pub fn update_task(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    id: TaskId,
    edit: &TaskEdit,
    windows: &Windows,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let task = tx
        .task_to_change(by.owner, id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    // Its mandate limits what it creates, and says nothing of the tasks of others.
    if by.limits.is_some() && task.mandate_key != Some(by.key) {
        return Err(UseCaseError::TaskOfAnotherKey);
    }
    // A person agrees to what the person has seen, and the charge comes later.
    if by.limits.is_some() && tx.has_approval(id)? {
        return Err(NotAllowed {
            status: task.status,
            what: "be updated with a limited key: a person was asked to agree to it",
        }
        .into());
    }
    let task = task.edit(edit, by.time(now))?;
    tx.edit_task(&task)?;
    if edit.deadline.is_some() {
        tx.set_approval_end(id, approvals::ends_at(&task, windows))?;
    }
    Ok(task)
}
