//! What a worker does with a task: accept, start, release, dispute.

use crate::ambient;
use crate::domain::quotes::coverage::AcceptedStep;
use crate::domain::{
    Action, Actor, CheckedSkills, DeveloperRecord, NotAllowed, NotEligible, ProcessorName, Proof,
    QueueItem, QueueItemId, QueueKind, Status, Task, TaskId, Timestamp, Windows, Worker, WorkerId,
    WorkerStatus,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::tasks::transition::{self, Cause};
use crate::usecases::workers::payout_status;

/// What accepting a task depends on, beside the worker and the task.
#[derive(Clone, Debug)]
pub struct AcceptTerms {
    /// Through which the worker is paid.
    pub processor: ProcessorName,
    pub checked_skills: CheckedSkills,
}

/// Accepts a posted task. If several workers try, one succeeds.
pub fn accept_task(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: TaskId,
    terms: &AcceptTerms,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    // The worker is locked first, so that two concurrent accepts cannot both become the fifth task.
    let holder = tx
        .worker_to_change(worker)?
        .ok_or(UseCaseError::Unauthorized)?;
    if holder.status == WorkerStatus::Suspended {
        return Err(UseCaseError::AccountSuspended);
    }
    let task = tx.any_task_to_change(id)?.filter(Task::is_live);
    let task = task.ok_or(UseCaseError::TaskNotFound)?;
    if task.status != Status::Posted {
        return not_posted(&task, worker);
    }
    // It is expired in a moment.
    if task.is_overdue(now) {
        return Err(cannot_be_accepted(Status::Expired));
    }
    let payout = payout_status(tx, worker, terms.processor)?;
    let in_hand = tx.count_tasks_in_hand(worker)?;
    holder.may_accept(&task, payout, in_hand, &terms.checked_skills)?;
    let cause = Actor::worker(worker).into();
    let accepted = transition::make(tx, &task, Action::Accept { worker }, &cause, now)?;
    let waited = now.since(task.status_since);
    tx.count_accepted(&task, AcceptedStep::of(waited, task.budget_cents))?;
    // Checked after the move, which locks the totals: the account cannot be suspended until the
    // commit.
    if !tx.account_is_active(task.owner.account)? {
        return Err(UseCaseError::TaskNotFound);
    }
    Ok(accepted)
}

/// A task that can be accepted, with the record of its developer, and why this worker may not accept it.
pub fn offered_task(
    tx: &mut Tx<'_>,
    worker: &Worker,
    id: TaskId,
    terms: &AcceptTerms,
) -> Result<(Task, DeveloperRecord, Option<NotEligible>), UseCaseError> {
    let found = tx.task_and_record(id)?;
    let found = found.filter(|(task, _)| task.is_live() && task.status == Status::Posted);
    let (task, record) = found.ok_or(UseCaseError::TaskNotFound)?;
    if !tx.account_is_active(task.owner.account)? {
        return Err(UseCaseError::TaskNotFound);
    }
    let payout = payout_status(tx, worker.id, terms.processor)?;
    let in_hand = tx.count_tasks_in_hand(worker.id)?;
    let allowed = worker.may_accept(&task, payout, in_hand, &terms.checked_skills);
    Ok((task, record, allowed.err()))
}

/// A task that workers cannot see is not found. For any other, the status explains the error.
fn not_posted(task: &Task, worker: WorkerId) -> Result<Task, UseCaseError> {
    let hidden = matches!(task.status, Status::Pending | Status::Funded);
    if hidden && task.worker != Some(worker) {
        return Err(UseCaseError::TaskNotFound);
    }
    Err(cannot_be_accepted(task.status))
}

fn cannot_be_accepted(status: Status) -> UseCaseError {
    UseCaseError::NotAllowed(NotAllowed {
        status,
        what: "be accepted",
    })
}

/// The task if it is assigned to this worker. Any other task is not found.
fn held_by(task: Option<Task>, worker: WorkerId) -> Result<Task, UseCaseError> {
    let task = task.filter(|task| task.is_held_by(worker));
    task.ok_or(UseCaseError::TaskNotFound)
}

/// Reads a task of this worker.
pub fn own_task(tx: &mut Tx<'_>, worker: WorkerId, id: TaskId) -> Result<Task, UseCaseError> {
    held_by(tx.any_task(id)?, worker)
}

/// A task as its worker sees it.
#[derive(Clone, Debug)]
pub struct OwnTask {
    pub task: Task,
    /// Why the worker's last attempt that was rejected was rejected.
    pub last_rejection: Option<String>,
    /// How the developer has dealt with work so far.
    pub record: DeveloperRecord,
    /// What the worker earned with it, transferred or not. None until it is over.
    pub earned_cents: Option<i64>,
}

/// Adds what the worker needs to know of the attempts before, of the developer, and of the money.
pub fn for_its_worker(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    task: Task,
) -> Result<OwnTask, UseCaseError> {
    let last_rejection = match task.proof_attempts {
        0 => None,
        _ => tx.last_rejection(task.id, worker)?,
    };
    let record = tx.record_of(task.owner)?;
    let earned_cents = match task.status.is_final() {
        true => Some(tx.ledger_of_task(task.id)?.earned_cents()),
        false => None,
    };
    Ok(OwnTask {
        task,
        earned_cents,
        last_rejection,
        record: record.unwrap_or_default(),
    })
}

/// The proofs that this worker submitted for a task, also for one that another worker has now. The task of
/// others is not found.
pub fn own_proofs(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: TaskId,
) -> Result<Vec<Proof>, UseCaseError> {
    let task = tx.any_task(id)?.filter(Task::is_live);
    let task = task.ok_or(UseCaseError::TaskNotFound)?;
    let proofs = tx.proofs_of_task_by(id, worker)?;
    if proofs.is_empty() && !task.is_held_by(worker) {
        return Err(UseCaseError::TaskNotFound);
    }
    Ok(proofs)
}

fn own_task_to_change(tx: &mut Tx<'_>, worker: WorkerId, id: TaskId) -> Result<Task, UseCaseError> {
    held_by(tx.any_task_to_move(id)?, worker)
}

/// The task for which this worker wants to submit proof. A suspended worker may not try again.
pub fn own_task_to_prove(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: TaskId,
) -> Result<Task, UseCaseError> {
    let holder = tx.worker(worker)?.ok_or(UseCaseError::Unauthorized)?;
    if holder.status == WorkerStatus::Suspended {
        return Err(UseCaseError::AccountSuspended);
    }
    own_task_to_change(tx, worker, id)
}

/// Starts or releases a task.
pub fn transition_own_task(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: TaskId,
    action: Action,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let task = own_task_to_change(tx, worker, id)?;
    transition::make(tx, &task, action, &Actor::worker(worker).into(), now)
}

/// Disputes a rejection. An admin decides.
pub fn dispute_task(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    id: TaskId,
    statement: Option<&str>,
    windows: &Windows,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let task = own_task_to_change(tx, worker, id)?;
    if task.status == Status::ProofRejected && !task.can_be_contested(windows, now) {
        return Err(UseCaseError::TooLateToDispute);
    }
    let cause = Cause {
        reason: statement,
        ..Actor::worker(worker).into()
    };
    let disputed = transition::make(tx, &task, Action::Dispute, &cause, now)?;
    let item = QueueItemId::new(now, &ambient::random_for_id());
    tx.add_queue_item(&QueueItem {
        environment: disputed.owner.environment,
        task: Some(id),
        worker: Some(worker),
        ..QueueItem::new(item, QueueKind::Dispute, id, now)
    })?;
    Ok(disputed)
}
