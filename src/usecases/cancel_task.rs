//! A developer calls a task off.

use super::{Refusal, act};
use crate::domain::{Action, By, Task, TaskId, Timestamp};
use crate::store::{KeyHolder, Tx};

pub fn cancel_task(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    id: TaskId,
    now: Timestamp,
) -> Result<Task, Refusal> {
    act(
        tx,
        by.owner,
        id,
        Action::Cancel,
        By::developer(by.key),
        by.time(now),
    )
}
