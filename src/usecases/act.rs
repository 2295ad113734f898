//! Somebody moves a task: the one way in which a task, its money and what follows from it change.

use super::Refusal;
use crate::domain::{
    Action, Environment, JobKind, JobName, Moved, Owner, Status, Task, TaskId, Timestamp,
};
use crate::store::Tx;

/// Moves a task of this owner, if the table of moves allows it.
pub fn act(
    tx: &mut Tx<'_>,
    owner: Owner,
    id: TaskId,
    action: Action,
    now: Timestamp,
) -> Result<Task, Refusal> {
    let task = tx.task_to_change(owner, id)?.ok_or(Refusal::TaskNotFound)?;
    make(tx, &task, action, now)
}

/// Moves a task that this transaction holds. Writes the task, its money, and the jobs that ask the
/// processor for its part.
pub(super) fn make(
    tx: &mut Tx<'_>,
    task: &Task,
    action: Action,
    now: Timestamp,
) -> Result<Task, Refusal> {
    let moved = task.act(action, now)?;
    tx.move_task(&moved)?;
    for kind in jobs_after(&moved) {
        tx.add_job(&JobName::new(kind, moved.task.id), now)?;
    }
    Ok(moved.task)
}

/// What the processor has to do after a move. It never hears of test tasks.
fn jobs_after(moved: &Moved) -> impl Iterator<Item = JobKind> {
    let live = moved.task.owner.environment == Environment::Live;
    let given_up = moved.from == Status::Pending && moved.task.status.is_final();
    [
        (given_up, JobKind::CancelPayment),
        (moved.settlement.refund_cents > 0, JobKind::Refund),
        (moved.settlement.payout_cents > 0, JobKind::Transfer),
    ]
    .into_iter()
    .filter_map(move |(needed, kind)| (live && needed).then_some(kind))
}
