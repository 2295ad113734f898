//! A developer creates a task. With a test key it is funded at once, without a charge.

use super::Refusal;
use crate::domain::{Action, Environment, NewTask, Task, TaskId, Timestamp};
use crate::store::{KeyHolder, Tx};

pub fn create_task(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    new: &NewTask,
    id: TaskId,
    now: Timestamp,
) -> Result<Task, Refusal> {
    let mut task = Task::create(id, by.owner, by.tier, new, now);
    if by.owner.environment == Environment::Test {
        task = task.act(Action::Pay, now)?.task;
    }
    let limit = by.tier.tasks_per_month();
    if tx.insert_task(&task, limit)? {
        Ok(task)
    } else {
        Err(Refusal::TaskLimitExceeded { limit })
    }
}
