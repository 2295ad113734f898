//! Dead jobs: retried, or, for a payout, written off. So is a payout that may wait for ever.

use serde_json::json;

use crate::domain::events::to_workers;
use crate::domain::{
    Actor, ChargeStanding, Entry, HeldBecause, JobKind, JobName, NotificationKind, OutgoingKind,
    ProcessorName, ProposalKind, QueueItem, QueueKind, Step, Task, TaskId, TaskLedger, Timestamp,
};
use crate::payments::{Attempt, Outgoing};
use crate::store::{AuditFilter, ListedJob, Tx};
use crate::usecases::admin::audit::{Done, audit_with_note, audit_with_note_about};
use crate::usecases::admin::four_eyes::{self, FourEyes, Outcome, Passed, Wanted};
use crate::usecases::admin::review_queue;
use crate::usecases::events::notify;
use crate::usecases::{self, UseCaseError};

/// The line of the audit log about a payout that is tried again.
const RETRIED: &str = "payout.retried";

/// The review queue items that a decision about this job closes.
const fn kinds(job: JobKind) -> &'static [QueueKind] {
    match job {
        JobKind::Transfer => &[QueueKind::FailedPayout, QueueKind::TransferReversed],
        JobKind::Refund => &[QueueKind::RefundFailed],
        _ => &[],
    }
}

/// The open items about a job. Fails if another admin has claimed one.
fn items(
    tx: &mut Tx<'_>,
    name: &JobName,
    by: &Actor,
    now: Timestamp,
) -> Result<Vec<QueueItem>, UseCaseError> {
    let mut items = Vec::new();
    for kind in kinds(name.kind) {
        let item = review_queue::decidable_item(tx, *kind, &name.subject, by, now)?;
        items.extend(item);
    }
    Ok(items)
}

/// Makes a dead job due again. For a payout or a refund, this also closes its review queue items, which keep the note.
pub fn retry_job(
    tx: &mut Tx<'_>,
    name: &JobName,
    note: Option<&str>,
    by: &Actor,
    now: Timestamp,
) -> Result<ListedJob, UseCaseError> {
    let payout = name.kind == JobKind::Transfer;
    let items = items(tx, name, by, now)?;
    if !tx.retry_job(name, now)? {
        return Err(UseCaseError::JobNotFound);
    }
    if payout && is_charged_back(tx, name)? {
        tx.pay_charged_back(name)?;
    }
    if let Some(task) = TaskId::parse(&name.subject).filter(|_| payout) {
        // Whoever has proposed to write it off did so before it was tried again.
        tx.drop_proposal(ProposalKind::WriteOff, task)?;
    }
    for item in &items {
        review_queue::close(tx, item, note, by, now)?;
    }
    let job = tx.job(name)?.ok_or(UseCaseError::JobNotFound)?;
    let (action, subject, id) = match payout {
        true => (RETRIED, "task", name.subject.clone()),
        false => ("job.retried", "job", name.to_string()),
    };
    let done = Done {
        action,
        subject,
        subject_id: &id,
        details: json!({}),
    };
    // What is noted about a refund goes with its task.
    let note = note.map(|note| (name.subject.as_str(), note));
    audit_with_note_about(tx, by, &done, note, now)?;
    Ok(job)
}

/// Whether the bank took back the payment that a transfer is made from.
fn is_charged_back(tx: &mut Tx<'_>, transfer: &JobName) -> Result<bool, UseCaseError> {
    let Some(task) = TaskId::parse(&transfer.subject) else {
        return Ok(false);
    };
    let standing = usecases::charge_standing(tx, task)?;
    Ok(matches!(standing, ChargeStanding::ChargedBack { .. }))
}

/// Retries a transfer that failed permanently.
pub fn retry_payout(
    tx: &mut Tx<'_>,
    id: TaskId,
    note: Option<&str>,
    by: &Actor,
    now: Timestamp,
) -> Result<Task, UseCaseError> {
    let task = tx
        .any_task_to_change(id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    match retry_job(tx, &transfer(id), note, by, now) {
        // It does not fail any more: the decision was made, and is sent again.
        Err(UseCaseError::JobNotFound) if was_retried(tx, id)? => Ok(task),
        Err(UseCaseError::JobNotFound) => Err(UseCaseError::PayoutNotFailed),
        Err(error) => Err(error),
        Ok(_) => Ok(task),
    }
}

/// Whether an admin has decided to try it again, and nobody decided otherwise since.
fn was_retried(tx: &mut Tx<'_>, id: TaskId) -> Result<bool, UseCaseError> {
    let filter = AuditFilter {
        subject_id: Some(id.to_string()),
        action: Some(RETRIED.to_owned()),
    };
    let retried = !tx.audit_lines_before(&filter, None, 1)?.is_empty();
    Ok(retried && !is_written_off(&tx.ledger_of_task(id)?))
}

/// The transfer that is about to be written off, or none if it was written off before. A request for it
/// may have taken effect without our knowledge, so the processor has to say that it was not made.
pub fn payout_to_write_off(
    tx: &mut Tx<'_>,
    id: TaskId,
    processor: ProcessorName,
) -> Result<Option<Outgoing>, UseCaseError> {
    let task = tx.any_task(id)?.ok_or(UseCaseError::TaskNotFound)?;
    let ledger = tx.ledger_of_task(id)?;
    if is_written_off(&ledger) {
        return Ok(None);
    }
    let job = idle_transfer(tx, &task)?;
    let payment = tx.payment(id)?;
    let (Some(_), Some(payment)) = (job, payment) else {
        return Err(UseCaseError::PayoutNotFailed);
    };
    if payment.processor != processor {
        let there = payment.processor;
        let reason = format!("the payment was created with {there}, which cannot be asked");
        return Err(UseCaseError::PaymentUnavailable(reason));
    }
    let intent = payment.intent.ok_or(UseCaseError::PayoutNotFailed)?;
    Ok(Some(Outgoing {
        attempt: Attempt::first(id),
        account: payment.account,
        payment: intent.id,
        cents: ledger.owed_payout_cents(),
        already_cents: ledger.transferred_cents(),
        recorded: usecases::recorded_movements(tx, id, OutgoingKind::Transfer)?,
    }))
}

/// What a transfer may wait for in vain: the worker may never be restored, and never complete the payout
/// account.
fn may_never_come(task: &Task) -> Option<[String; 2]> {
    let worker = task.worker?;
    Some([
        HeldBecause::WorkerSuspended.waits_for(worker),
        usecases::waits_for_payout_account(worker),
    ])
}

/// Writes off a transfer that failed permanently, or that waits for what may never come: the platform keeps
/// what is owed. The processor has said that it was not made. No other job may be dropped, because it may be
/// about to move the money. Writing it off again changes nothing.
pub fn write_off_payout(
    tx: &mut Tx<'_>,
    id: TaskId,
    note: Option<&str>,
    (by, four_eyes): (&Actor, FourEyes),
    now: Timestamp,
) -> Result<Outcome<Task>, UseCaseError> {
    let task = tx
        .any_task_to_change(id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    let subject = id.to_string();
    let ledger = tx.ledger_of_task(id)?;
    if is_written_off(&ledger) {
        return Ok(Outcome::Made(task));
    }
    let items = items(tx, &transfer(id), by, now)?;
    let cents = ledger.owed_payout_cents();
    if cents <= 0 || idle_transfer(tx, &task)?.is_none() {
        return Err(UseCaseError::PayoutNotFailed);
    }
    let wanted = Wanted {
        kind: ProposalKind::WriteOff,
        task: id,
        content: json!({"amount_cents": cents}),
        note,
        cents,
    };
    let passed = four_eyes::pass(tx, four_eyes, &wanted, by, now)?;
    if let Passed::Waits(proposal) = passed {
        return Ok(Outcome::Proposed(proposal));
    }
    let in_vain = may_never_come(&task).unwrap_or_default();
    if !tx.drop_idle_job(&transfer(id), &in_vain)? {
        return Err(UseCaseError::PayoutNotFailed);
    }
    tx.post(&Entry::write_off(&task, cents, now))?;
    for item in &items {
        review_queue::close(tx, item, note, by, now)?;
    }
    if let Some(worker) = task.worker {
        let (kind, occasion) = (
            NotificationKind::PayoutWrittenOff,
            format!("written_off:{id}"),
        );
        let text = to_workers::written_off(&task, cents);
        notify::worker(tx, worker, kind, occasion, text, now)?;
    }
    let done = Done {
        action: "payout.written_off",
        subject: "task",
        subject_id: &subject,
        details: passed.noted_in(wanted.content),
    };
    audit_with_note(tx, by, &done, note, now)?;
    Ok(Outcome::Made(task))
}

/// The transfer of a task, if it failed permanently or waits for what may never come.
fn idle_transfer(tx: &mut Tx<'_>, task: &Task) -> Result<Option<ListedJob>, UseCaseError> {
    let in_vain = may_never_come(task).unwrap_or_default();
    let waits = |job: &ListedJob| {
        let waits_for = job.waits_for.as_ref();
        waits_for.is_some_and(|waits_for| in_vain.contains(waits_for))
    };
    let job = tx.job(&transfer(task.id))?;
    Ok(job.filter(|job| job.run_at.is_none() || waits(job)))
}

/// Whether what was owed was written off, and nothing else happened to it.
fn is_written_off(ledger: &TaskLedger) -> bool {
    ledger.entry(Step::WriteOff).is_some() && ledger.owed_payout_cents() == 0
}

fn transfer(id: TaskId) -> JobName {
    JobName::new(JobKind::Transfer, id)
}
