//! Disputes: an admin decides, and both sides can read the decision and its reason.

use serde_json::{Value, json};

use crate::domain::tasks::dispute::{Verdict, is_split_of};
use crate::domain::{
    Action, Actor, Decision, Dispute, NotAllowed, ProposalKind, QueueKind, Status, Task, TaskId,
    Timestamp,
};
use crate::store::{KeyHolder, StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit::{Done, audit_with_note};
use crate::usecases::admin::four_eyes::{self, FourEyes, Outcome, Passed, Wanted};
use crate::usecases::admin::review_queue;
use crate::usecases::tasks::transition::{self, Cause};

/// Decides a dispute. The action is one of the three decisions. The same decision sent again changes
/// nothing. One that pays the worker much waits for a second admin.
pub fn decide_dispute(
    tx: &mut Tx<'_>,
    id: TaskId,
    (action, note): (Action, Option<&str>),
    (by, four_eyes): (&Actor, FourEyes),
    now: Timestamp,
) -> Result<Outcome<Task>, UseCaseError> {
    let task = tx
        .any_task_to_change(id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    if task.status != Status::Disputed
        && let Some(verdict) = find_dispute(tx, id)?.and_then(|dispute| dispute.verdict)
    {
        return decided_before(task, &verdict, action, note).map(Outcome::Made);
    }
    if let Action::DecideSplit { paid_cents } = action
        && task.status == Status::Disputed
        && !is_split_of(paid_cents, task.budget_cents)
    {
        let budget_cents = task.budget_cents;
        return Err(UseCaseError::NoSplit { budget_cents });
    }
    let subject = id.to_string();
    let item = review_queue::decidable_item(tx, QueueKind::Dispute, &subject, by, now)?;
    // What admins do happens in real time, what becomes of the task in its own.
    let at = tx.time_of(task.owner, now)?;
    let moved = task.act(action, at)?;
    let wanted = Wanted {
        kind: ProposalKind::Dispute,
        task: id,
        content: content(action),
        note,
        cents: moved.settlement.payout_cents,
    };
    let passed = four_eyes::pass(tx, four_eyes, &wanted, by, now)?;
    if let Passed::Waits(proposal) = passed {
        return Ok(Outcome::Proposed(proposal));
    }
    let cause = Cause {
        reason: note,
        ..by.clone().into()
    };
    transition::write(tx, &moved, &cause, at)?;
    if let Some(item) = item {
        review_queue::close(tx, &item, None, by, now)?;
    }
    let done = Done {
        action: "dispute.decided",
        subject: "task",
        subject_id: &subject,
        details: passed.noted_in(wanted.content),
    };
    audit_with_note(tx, by, &done, note, now)?;
    Ok(Outcome::Made(moved.task))
}

fn content(action: Action) -> Value {
    match action {
        Action::DecideSplit { paid_cents } => {
            json!({"decision": "split", "paid_cents": paid_cents})
        }
        Action::DecidePay => json!({"decision": "pay"}),
        _ => json!({"decision": "refund"}),
    }
}

fn decided_before(
    task: Task,
    verdict: &Verdict,
    action: Action,
    note: Option<&str>,
) -> Result<Task, UseCaseError> {
    let (decision, paid_cents) = match action {
        Action::DecideSplit { paid_cents } => (Decision::Split, Some(paid_cents)),
        Action::DecidePay => (Decision::Pay, None),
        _ => (Decision::Refund, None),
    };
    let same = verdict.decision == decision && verdict.paid_cents == paid_cents;
    if same && verdict.note.as_deref() == note {
        return Ok(task);
    }
    Err(UseCaseError::DisputeDecided {
        decision: verdict.decision,
        paid_cents: verdict.paid_cents,
    })
}

/// The dispute about a task. The caller checks who may see the task.
pub fn dispute_of(tx: &mut Tx<'_>, task: TaskId) -> Result<Dispute, UseCaseError> {
    find_dispute(tx, task)?.ok_or(UseCaseError::DisputeNotFound)
}

pub fn find_dispute(tx: &mut Tx<'_>, task: TaskId) -> Result<Option<Dispute>, StoreError> {
    // One move into a dispute and one out of it. A task is disputed at most once.
    const MOVES: i64 = 2;
    let moves = tx.moves_around(task, Status::Disputed, MOVES)?;
    let Some(dispute) = Dispute::of(&moves, &tx.ledger_of_task(task)?) else {
        return Ok(None);
    };
    Ok(Some(Dispute {
        developer: tx.dispute_statement(task)?,
        ..dispute
    }))
}

/// The developer says something about a dispute that is not decided yet, in place of what they said
/// before. Both sides and the admins read it.
pub fn state_side(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    id: TaskId,
    statement: &str,
    now: Timestamp,
) -> Result<Dispute, UseCaseError> {
    let task = tx.task_to_change(by.owner, id)?;
    let task = task.ok_or(UseCaseError::TaskNotFound)?;
    if task.status != Status::Disputed {
        let (status, what) = (task.status, "get a statement about a dispute");
        return Err(NotAllowed { status, what }.into());
    }
    tx.put_dispute_statement(id, statement, by.time(now))?;
    dispute_of(tx, id)
}
