//! A developer calls a task off.

use super::{Refusal, act};
use crate::domain::{Action, Owner, Task, TaskId, Timestamp};
use crate::store::Tx;

pub fn cancel_task(
    tx: &mut Tx<'_>,
    owner: Owner,
    id: TaskId,
    now: Timestamp,
) -> Result<Task, Refusal> {
    act(tx, owner, id, Action::Cancel, now)
}
