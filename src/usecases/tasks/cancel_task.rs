//! A developer cancels a task.

use crate::domain::{Action, Actor, Task, TaskId, Timestamp};
use crate::store::{KeyHolder, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::tasks::transition::transition;

pub fn cancel_task(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    id: TaskId,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    transition(
        tx,
        by.owner,
        id,
        Action::Cancel,
        Actor::developer(by.key),
        by.time(now),
    )
}
