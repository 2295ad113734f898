//! Disputes: an admin decides, and both sides can read the decision and its reason.

use serde_json::json;

use crate::domain::tasks::dispute::is_split_of;
use crate::domain::{Action, Actor, Dispute, QueueKind, Status, Task, TaskId, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::{audit, review_queue};
use crate::usecases::tasks::transition::{self, Cause};

/// Decides a dispute. The action is one of the three decisions.
pub fn decide_dispute(
    tx: &mut Tx<'_>,
    id: TaskId,
    action: Action,
    note: Option<&str>,
    by: &Actor,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let task = tx
        .any_task_to_change(id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    if let Action::DecideSplit { paid_cents } = action
        && task.status == Status::Disputed
        && !is_split_of(paid_cents, task.budget_cents)
    {
        let budget_cents = task.budget_cents;
        return Err(UseCaseError::NoSplit { budget_cents });
    }
    let subject = id.to_string();
    let item = review_queue::decidable_item(tx, QueueKind::Dispute, &subject, by, now)?;
    let cause = Cause {
        reason: note,
        ..by.clone().into()
    };
    let decided = transition::make(tx, &task, action, &cause, now)?;
    if let Some(item) = item {
        review_queue::close(tx, &item, None, by, now)?;
    }
    let details = match action {
        Action::DecideSplit { paid_cents } => {
            json!({"decision": "split", "paid_cents": paid_cents})
        }
        Action::DecidePay => json!({"decision": "pay"}),
        _ => json!({"decision": "refund"}),
    };
    audit(tx, by, "dispute.decided", "task", &subject, details, now)?;
    Ok(decided)
}

/// The dispute about a task. The caller checks who may see the task.
pub fn dispute_of(tx: &mut Tx<'_>, task: &Task) -> Result<Dispute, UseCaseError> {
    // One move into a dispute and one out of it. A task is disputed at most once.
    const MOVES: i64 = 2;
    let moves = tx.moves_around(task.id, Status::Disputed, MOVES)?;
    Dispute::of(&moves, &tx.ledger_of_task(task.id)?).ok_or(UseCaseError::DisputeNotFound)
}
