//! Moves a task. Every change of a task, its money and what follows from it goes through here.

use crate::domain::tasks::approval::ApprovalStatus;
use crate::domain::{
    Action, Actor, Environment, EventType, HistoryEntry, JobKind, JobName, Moved, Owner, Proof,
    Status, Task, TaskId, Timestamp,
};
use crate::store::{StoredMove, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::events::notify;
use crate::views::event;

/// Who moves a task and why, and which proof the move is about.
#[derive(Clone, Debug)]
pub struct Cause<'a> {
    pub by: Actor,
    pub reason: Option<&'a str>,
    pub proof: Option<&'a Proof>,
}

impl From<Actor> for Cause<'_> {
    fn from(by: Actor) -> Self {
        Self {
            by,
            reason: None,
            proof: None,
        }
    }
}

/// Moves a task of this owner, if the table of moves allows it.
pub fn transition(
    tx: &mut Tx<'_>,
    owner: Owner,
    id: TaskId,
    action: Action,
    by: Actor,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let task = tx
        .task_to_move(owner, id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    make(tx, &task, action, &by.into(), now)
}

/// Moves a task that this transaction has locked.
pub(in crate::usecases) fn make(
    tx: &mut Tx<'_>,
    task: &Task,
    action: Action,
    cause: &Cause<'_>,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let moved = task.act(action, now)?;
    write(tx, &moved, cause, now)?;
    Ok(moved.task)
}

/// Writes a move: the task, its money, its history, its events, and the jobs that follow.
pub(in crate::usecases) fn write(
    tx: &mut Tx<'_>,
    moved: &Moved,
    cause: &Cause<'_>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    write_all(tx, &[(moved, cause)], now)
}

/// Writes moves of a task of which each begins where the one before it ended. The task itself is written
/// once.
pub(in crate::usecases) fn write_all(
    tx: &mut Tx<'_>,
    moves: &[(&Moved, &Cause<'_>)],
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let made = moves.iter().map(|(moved, cause)| stored(moved, cause, now));
    tx.move_task(&made.collect::<Result<Vec<_>, _>>()?)?;
    for (moved, cause) in moves {
        if moved.task.mandate_key.is_some() && moved.task.status.is_final() {
            tx.give_back(&moved.task, moved.unspent_cents())?;
        }
        // Whatever the key: its mandate may have been lifted while the task was being created.
        if given_up(moved) {
            let ended = ApprovalStatus::after(moved.task.status);
            tx.end_approval(moved.task.id, ended)?;
        }
        if moved.task.owner.environment == Environment::Test {
            continue;
        }
        for kind in jobs_after(moved) {
            tx.add_job(&JobName::new(kind, moved.task.id), now)?;
        }
        if let (Some(worker), Some(outcome)) = (moved.worker, moved.outcome()) {
            tx.count_outcome(worker, outcome)?;
        }
        notify::of_move(tx, moved, cause.reason, now)?;
        // Where nothing was sent, nothing is flagged.
        if moved.task.status.is_final() && moved.task.proof_attempts > 0 {
            tx.close_flagged_proofs(moved.task.id, now)?;
        }
    }
    Ok(())
}

fn stored<'a>(
    moved: &'a Moved,
    cause: &Cause<'_>,
    now: Timestamp,
) -> Result<StoredMove<'a>, UseCaseError> {
    let entry = HistoryEntry {
        from: Some(moved.from),
        to: moved.task.status,
        by: cause.by.clone(),
        reason: cause.reason.map(str::to_owned),
        created_at: now,
    };
    let mut events = Vec::with_capacity(moved.events.len());
    for event_type in moved.events {
        events.push(match event_type {
            EventType::TaskCancelled => event::of_cancelled(&moved.task, moved.settlement)?,
            event_type => event::of_task(*event_type, &moved.task, cause.proof)?,
        });
    }
    Ok(StoredMove {
        moved,
        entry,
        events,
    })
}

/// Whether a task ends before it was paid for.
fn given_up(moved: &Moved) -> bool {
    moved.from == Status::Pending && moved.task.status.is_final()
}

/// The jobs that follow a move of a live task.
fn jobs_after(moved: &Moved) -> impl Iterator<Item = JobKind> {
    [
        (given_up(moved), JobKind::CancelPayment),
        (moved.settlement.refund_cents > 0, JobKind::Refund),
        (moved.settlement.payout_cents > 0, JobKind::Transfer),
    ]
    .into_iter()
    .filter_map(|(needed, kind)| needed.then_some(kind))
}
