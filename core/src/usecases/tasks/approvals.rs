//! A task above what its key may spend alone waits for a person. Whoever has an unlimited key, or has
//! signed in, agrees or refuses. Nobody deciding is a refusal.

use serde_json::json;

use crate::domain::events::notification;
use crate::domain::tasks::approval::{Approval, ApprovalStatus};
use crate::domain::{
    Action, Actor, Environment, JobKind, JobName, NotificationKind, Owner, ProcessorName, Task,
    TaskId, Timestamp, Windows,
};
use crate::store::{KeyHolder, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;
use crate::usecases::events::notify;
use crate::usecases::tasks::transition::{self, Cause};
use crate::views::event;

/// What is told of a task that waits.
#[derive(Clone, Debug)]
pub struct AskedApproval {
    /// Where the task will be paid for.
    pub processor: ProcessorName,
    pub windows: Windows,
    /// Where a person decides.
    pub url: String,
}

/// One mail in so many milliseconds for each key, however many tasks it creates.
const MAIL_EVERY_MS: i64 = 10 * 60 * 1_000;

/// Keeps that a new task waits, and tells its owner. This transaction has stored the task. Mails are sent by
/// the real time, however far a test clock is ahead.
pub(super) fn ask(
    tx: &mut Tx<'_>,
    by: &KeyHolder,
    task: &Task,
    asked: &AskedApproval,
    real: Timestamp,
) -> Result<(), UseCaseError> {
    let now = task.created_at;
    let approval = Approval {
        task: task.id,
        owner: task.owner,
        key: by.key,
        budget_cents: task.budget_cents,
        status: ApprovalStatus::Waiting,
        expires_at: ends_at(task, &asked.windows),
        decided: None,
        created_at: now,
    };
    tx.insert_approval(&approval)?;
    let event = event::of_approval(task, &approval, &asked.url)?;
    tx.add_event(task.owner, &event, now)?;
    let account = task.owner.account;
    let occasion = format!("approval:{}:{}", by.key, real.as_millis() / MAIL_EVERY_MS);
    let kind = NotificationKind::ApprovalRequired;
    let words = notification::approval_required(task, approval.expires_at);
    notify::developer(tx, account, kind, occasion, words, real)
}

/// Until when a person can decide about a task that waits.
pub(super) fn ends_at(task: &Task, windows: &Windows) -> Timestamp {
    let next = task.next_by_clock(windows);
    next.map_or(task.created_at.plus(windows.unpaid), |(at, _)| at)
}

/// A person agrees: the task is charged as it would have been when it was created.
pub fn approve_task(
    tx: &mut Tx<'_>,
    owner: Owner,
    id: TaskId,
    (by, processor): (&Actor, ProcessorName),
    now: Timestamp,
) -> Result<Approval, UseCaseError> {
    let (task, approval) = waiting(tx, owner, id)?;
    tx.decide_approval(id, ApprovalStatus::Approved, by, now)?;
    match owner.environment {
        Environment::Test => {
            transition::make(tx, &task, Action::Pay, &Actor::PROCESSOR.into(), now)?;
        }
        Environment::Live => {
            let method = tx.payment_method(owner)?;
            if let Some(method) = method.filter(|method| method.processor == processor) {
                tx.set_charged_method(id, processor, &method.method, now)?;
            }
            // Without a method, the job creates a payment for somebody to pay with.
            tx.add_job(&JobName::new(JobKind::Charge, id), now)?;
        }
    }
    decided(tx, approval, ApprovalStatus::Approved, by, now)
}

/// A person refuses: the task is cancelled, and what it had reserved comes back.
pub fn refuse_task(
    tx: &mut Tx<'_>,
    owner: Owner,
    id: TaskId,
    by: &Actor,
    now: Timestamp,
) -> Result<Approval, UseCaseError> {
    let (task, approval) = waiting(tx, owner, id)?;
    tx.decide_approval(id, ApprovalStatus::Refused, by, now)?;
    let cause = Cause {
        reason: Some("approval refused"),
        ..by.clone().into()
    };
    transition::make(tx, &task, Action::Cancel, &cause, now)?;
    decided(tx, approval, ApprovalStatus::Refused, by, now)
}

fn waiting(tx: &mut Tx<'_>, owner: Owner, id: TaskId) -> Result<(Task, Approval), UseCaseError> {
    let task = tx
        .task_to_move(owner, id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    let approval = tx
        .approval(owner, id)?
        .ok_or(UseCaseError::ApprovalNotFound)?;
    if approval.status != ApprovalStatus::Waiting {
        let status = approval.status;
        return Err(UseCaseError::ApprovalDecided { status });
    }
    Ok((task, approval))
}

fn decided(
    tx: &mut Tx<'_>,
    approval: Approval,
    status: ApprovalStatus,
    by: &Actor,
    now: Timestamp,
) -> Result<Approval, UseCaseError> {
    let action = match status {
        ApprovalStatus::Approved => "approval.approved",
        _ => "approval.refused",
    };
    let details = json!({
        "account_id": approval.owner.account.to_string(),
        "key_id": approval.key.to_string(),
        "budget_cents": approval.budget_cents,
    });
    let id = approval.task.to_string();
    audit(tx, by, action, "task", &id, details, now)?;
    Ok(Approval {
        status,
        decided: Some((by.clone(), now)),
        ..approval
    })
}
