//! What a worker does with a task: takes it, begins, gives it back, contests a rejection.

use super::Refusal;
use super::act::{self, Cause};
use crate::ambient;
use crate::domain::{
    Action, By, Environment, NotAllowed, PayoutStatus, ProcessorName, QueueItem, QueueItemId,
    QueueKind, Status, Task, TaskId, Timestamp, Windows, WorkerId, WorkerStatus,
};
use crate::store::Tx;

/// Takes a posted task. Of several who try, one gets it.
pub fn accept_task(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: TaskId,
    processor: ProcessorName,
    now: Timestamp,
) -> Result<Task, Refusal> {
    // Held first, so that two accepts of one worker cannot both be the fifth.
    let holder = tx.worker_to_change(worker)?.ok_or(Refusal::Unauthorized)?;
    let task = live_task(tx, id)?;
    if task.status != Status::Posted {
        return not_posted(&task, worker);
    }
    let payout = tx.payout_account(worker, processor)?;
    let payout = payout.map_or(PayoutStatus::None, |account| account.status);
    holder.may_accept(&task, payout, tx.count_open_tasks(worker)?)?;
    let cause = By::worker(worker).into();
    let accepted = act::make(tx, &task, Action::Accept { worker }, &cause, now)?;
    // Asked after the move, which holds the totals: nobody suspends the account until it is kept.
    if !tx.account_is_active(task.owner.account)? {
        return Err(Refusal::TaskNotFound);
    }
    Ok(accepted)
}

/// A task that somebody else has is as good as gone; the state says why it cannot be taken.
fn not_posted(task: &Task, worker: WorkerId) -> Result<Task, Refusal> {
    let hidden = matches!(task.status, Status::Pending | Status::Funded);
    if hidden && task.worker != Some(worker) {
        return Err(Refusal::TaskNotFound);
    }
    Err(Refusal::NotAllowed(NotAllowed {
        status: task.status,
        what: "be accepted",
    }))
}

fn live_task(tx: &mut Tx<'_>, id: TaskId) -> Result<Task, Refusal> {
    tx.any_task_to_change(id)?
        .filter(|task| task.owner.environment == Environment::Live)
        .ok_or(Refusal::TaskNotFound)
}

/// The task that this worker has; anybody else's is not found.
fn own_task(tx: &mut Tx<'_>, worker: WorkerId, id: TaskId) -> Result<Task, Refusal> {
    let task = live_task(tx, id)?;
    if task.worker == Some(worker) {
        Ok(task)
    } else {
        Err(Refusal::TaskNotFound)
    }
}

/// The task that this worker wants to prove; one who was suspended meanwhile may not try again.
pub fn own_task_to_prove(tx: &mut Tx<'_>, worker: WorkerId, id: TaskId) -> Result<Task, Refusal> {
    let holder = tx.worker(worker)?.ok_or(Refusal::Unauthorized)?;
    if holder.status == WorkerStatus::Suspended {
        return Err(Refusal::AccountSuspended);
    }
    own_task(tx, worker, id)
}

/// Begins a task, or gives it back.
pub fn act_on_own_task(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: TaskId,
    action: Action,
    now: Timestamp,
) -> Result<Task, Refusal> {
    let task = own_task(tx, worker, id)?;
    act::make(tx, &task, action, &By::worker(worker).into(), now)
}

/// Contests a rejection; an admin decides.
pub fn dispute_task(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: TaskId,
    statement: Option<&str>,
    windows: &Windows,
    now: Timestamp,
) -> Result<Task, Refusal> {
    let task = own_task(tx, worker, id)?;
    if task.status == Status::ProofRejected && !task.can_be_contested(windows, now) {
        return Err(Refusal::TooLateToDispute);
    }
    let cause = Cause {
        reason: statement,
        ..By::worker(worker).into()
    };
    let disputed = act::make(tx, &task, Action::Dispute, &cause, now)?;
    let item = QueueItemId::new(now, &ambient::random_for_id());
    tx.add_queue_item(&QueueItem {
        task: Some(id),
        worker: Some(worker),
        note: statement.map(str::to_owned),
        ..QueueItem::new(item, QueueKind::Dispute, id, now)
    })?;
    Ok(disputed)
}
