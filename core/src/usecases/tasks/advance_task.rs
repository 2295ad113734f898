//! Advances a test task: the same moves as in live, made by the test helper.

use std::collections::VecDeque;

use crate::domain::{
    Action, Actor, NotAllowed, ProofStatus, Status, Submission, Task, Timestamp, WorkerId,
};
use crate::store::{KeyHolder, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::proofs::submit_proof;
use crate::usecases::tasks::transition::{self, Cause};

/// The next status of the happy path, up to the developer's review.
fn next(status: Status) -> Option<Status> {
    match status {
        Status::Pending => Some(Status::Funded),
        Status::Funded => Some(Status::Posted),
        Status::Posted => Some(Status::Assigned),
        Status::Assigned => Some(Status::InProgress),
        Status::InProgress | Status::ProofRejected => Some(Status::ProofSubmitted),
        _ => None,
    }
}

/// The shortest path from the task's status to another, by the table of moves.
pub fn way(task: &Task, to: Option<Status>) -> Result<Vec<Action>, UseCaseError> {
    let ways = ways(task);
    let to = to.or_else(|| next(task.status));
    let found = ways.iter().find(|(status, _)| Some(*status) == to);
    match found {
        Some((_, way)) => Ok(way.clone()),
        None => Err(UseCaseError::CannotAdvance {
            from: task.status,
            to,
            possible: ways.iter().map(|(status, _)| *status).collect(),
        }),
    }
}

/// The shortest path to each status that can be reached, but for the present one.
fn ways(task: &Task) -> Vec<(Status, Vec<Action>)> {
    let worker = WorkerId::simulated(task.owner.account);
    let mut ways: Vec<(Status, Vec<Action>)> = Vec::new();
    let mut open = VecDeque::from([(task.clone(), Vec::new())]);
    let mut seen = vec![(task.status, task.proof_attempts)];
    while let Some((from, way)) = open.pop_front() {
        for action in Action::simulated(worker) {
            let Ok(moved) = from.act(action, from.updated_at) else {
                continue;
            };
            let mut longer = way.clone();
            longer.push(action);
            let status = moved.task.status;
            if status != task.status && ways.iter().all(|(known, _)| *known != status) {
                ways.push((status, longer.clone()));
            }
            let place = (status, moved.task.proof_attempts);
            if !seen.contains(&place) {
                seen.push(place);
                open.push_back((moved.task, longer));
            }
        }
    }
    ways
}

/// Makes the moves, as the simulated worker. Each submission on the path uses one of the given ones.
pub fn advance_task(
    tx: &mut Tx<'_>,
    mut task: Task,
    by: &KeyHolder,
    to: Option<Status>,
    submissions: Vec<Submission>,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let now = by.time(now);
    let mut submissions = submissions.into_iter();
    let simulated = WorkerId::simulated(by.owner.account);
    let cause = Cause {
        reason: Some("test helper"),
        ..Actor::simulated_worker(simulated).into()
    };
    let way = way(&task, to)?;
    if way.contains(&Action::Pay) && tx.waits_for_approval(task.id)? {
        return Err(NotAllowed {
            status: task.status,
            what: "be funded before it is approved",
        }
        .into());
    }
    for action in way {
        task = match action {
            Action::SubmitProof => {
                let Some(submission) = submissions.next() else {
                    // The task has moved since its files were prepared.
                    return Err(NotAllowed {
                        status: task.status,
                        what: "be advanced to that status any more",
                    }
                    .into());
                };
                let worker = task.worker.unwrap_or(simulated);
                submit_proof(tx, &task, worker, &submission, now)?;
                tx.any_task(task.id)?.ok_or(UseCaseError::TaskNotFound)?
            }
            Action::Approve => reviewed(tx, &task, ProofStatus::Approved, None, &cause, now)?,
            Action::Reject => {
                let reason = Some("Rejected by the test helper.");
                reviewed(tx, &task, ProofStatus::Rejected, reason, &cause, now)?
            }
            action => transition::make(tx, &task, action, &cause, now)?,
        };
    }
    Ok(task)
}

fn reviewed(
    tx: &mut Tx<'_>,
    task: &Task,
    status: ProofStatus,
    reason: Option<&str>,
    cause: &Cause<'_>,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let action = match status {
        ProofStatus::Rejected => Action::Reject,
        _ => Action::Approve,
    };
    tx.review_attempt(task.id, task.proof_attempts, status, reason, now)?;
    let proofs = tx.proofs_of_attempt(task.id, task.proof_attempts)?;
    let cause = Cause {
        reason: reason.or(cause.reason),
        proof: proofs.first(),
        ..cause.clone()
    };
    transition::make(tx, task, action, &cause, now)
}
