//! Closes what the processor can never send: a payout is written off, a refund was made in another way.

use serde_json::json;

use crate::domain::events::to_workers;
use crate::domain::money::amount::dollars;
use crate::domain::{
    Actor, ChargeStanding, Entry, HeldBecause, NotificationKind, OutgoingKind, ProcessorName, Task,
    TaskId, TaskLedger, Timestamp,
};
use crate::payments::{Attempt, Outgoing};
use crate::store::{ListedJob, Tx};
use crate::usecases::admin::audit::{Done, audit_with_note};
use crate::usecases::admin::four_eyes::{self, FourEyes, Outcome, Passed, Wanted};
use crate::usecases::admin::review_queue;
use crate::usecases::admin::unsent::{Unsent, items};
use crate::usecases::events::notify;
use crate::usecases::{self, UseCaseError};

/// The movement that is about to be closed, or none if it was closed before. A request for it may have taken
/// effect without our knowledge, so the processor has to say that it was not made.
pub fn unsent_to_close(
    tx: &mut Tx<'_>,
    unsent: &Unsent,
    id: TaskId,
    processor: ProcessorName,
) -> Result<Option<Outgoing>, UseCaseError> {
    let task = tx.any_task(id)?.ok_or(UseCaseError::TaskNotFound)?;
    let ledger = tx.ledger_of_task(id)?;
    if is_closed(unsent, &ledger) {
        return Ok(None);
    }
    let job = idle_job(tx, unsent, &task)?;
    let payment = tx.payment(id)?;
    let (Some(_), Some(payment)) = (job, payment) else {
        return Err(unsent.not_failed());
    };
    if payment.processor != processor {
        let there = payment.processor;
        let reason = format!("the payment was created with {there}, which cannot be asked");
        return Err(UseCaseError::PaymentUnavailable(reason));
    }
    let intent = payment.intent.ok_or(unsent.not_failed())?;
    Ok(Some(Outgoing {
        attempt: Attempt::first(id),
        account: payment.account,
        payment: intent.id,
        cents: ledger.owed_cents(unsent.kind),
        already_cents: ledger.sent_cents(unsent.kind),
        recorded: usecases::recorded_movements(tx, id, unsent.kind)?,
    }))
}

/// What a job may wait for in vain: the worker may never be restored, and never complete the payout account.
fn may_never_come(unsent: &Unsent, task: &Task) -> [String; 2] {
    match (unsent.kind, task.worker) {
        (OutgoingKind::Transfer, Some(worker)) => [
            HeldBecause::WorkerSuspended.waits_for(worker),
            usecases::waits_for_payout_account(worker),
        ],
        _ => Default::default(),
    }
}

/// Closes a movement that failed permanently, or that waits for what may never come: the platform keeps what
/// the processor has. The processor has said that it was not made. No other job may be dropped, because it
/// may be about to move the money. Closing it again changes nothing.
pub fn close_unsent(
    tx: &mut Tx<'_>,
    (unsent, id): (&Unsent, TaskId),
    note: Option<&str>,
    (by, four_eyes): (&Actor, FourEyes),
    now: Timestamp,
) -> Result<Outcome<Task>, UseCaseError> {
    let task = tx
        .any_task_to_change(id)?
        .ok_or(UseCaseError::TaskNotFound)?;
    let ledger = tx.ledger_of_task(id)?;
    if is_closed(unsent, &ledger) {
        return Ok(Outcome::Made(task));
    }
    let items = items(tx, &unsent.job(id), by, now)?;
    let cents = ledger.owed_cents(unsent.kind);
    if cents <= 0 || idle_job(tx, unsent, &task)?.is_none() {
        return Err(unsent.not_failed());
    }
    // If the bank gives the payer the money, the developer would have it twice.
    let standing = usecases::charge_standing(tx, id)?;
    if unsent.kind == OutgoingKind::Refund && matches!(standing, ChargeStanding::Disputed) {
        return Err(unsent.not_failed());
    }
    let wanted = Wanted {
        kind: unsent.proposal,
        task: id,
        content: json!({"amount_cents": cents}),
        note,
        cents,
    };
    let passed = four_eyes::pass(tx, four_eyes, &wanted, by, now)?;
    if let Passed::Waits(proposal) = passed {
        return Ok(Outcome::Proposed(proposal));
    }
    if !tx.drop_idle_job(&unsent.job(id), &may_never_come(unsent, &task))? {
        return Err(unsent.not_failed());
    }
    tx.post(&Entry::closing(&task, unsent.closed_by, cents, now))?;
    for item in &items {
        review_queue::close(tx, item, note, by, now)?;
    }
    tell(tx, unsent.kind, &task, (cents, by), now)?;
    let done = Done {
        action: unsent.closed,
        subject: "task",
        subject_id: &id.to_string(),
        details: passed.noted_in(wanted.content),
    };
    audit_with_note(tx, by, &done, note, now)?;
    Ok(Outcome::Made(task))
}

/// Tells whoever was owed the money.
fn tell(
    tx: &mut Tx<'_>,
    kind: OutgoingKind,
    task: &Task,
    (cents, by): (i64, &Actor),
    now: Timestamp,
) -> Result<(), UseCaseError> {
    match (kind, task.worker) {
        (OutgoingKind::Refund, _) => {
            let amount = dollars(cents);
            let text = format!("A refund of {amount} was made without the payment processor.");
            Ok(tx.note_in_history(task, by, &text, now)?)
        }
        (OutgoingKind::Transfer, Some(worker)) => {
            let occasion = format!("written_off:{}", task.id);
            let text = to_workers::written_off(task, cents);
            let kind = NotificationKind::PayoutWrittenOff;
            notify::worker(tx, worker, kind, occasion, text, now)
        }
        (OutgoingKind::Transfer, None) => Ok(()),
    }
}

/// The job of a task, if it failed permanently or waits for what may never come.
fn idle_job(
    tx: &mut Tx<'_>,
    unsent: &Unsent,
    task: &Task,
) -> Result<Option<ListedJob>, UseCaseError> {
    let in_vain = may_never_come(unsent, task);
    let waits = |job: &ListedJob| {
        let waits_for = job.waits_for.as_ref();
        waits_for.is_some_and(|waits_for| in_vain.contains(waits_for))
    };
    let job = tx.job(&unsent.job(task.id))?;
    Ok(job.filter(|job| job.run_at.is_none() || waits(job)))
}

/// Whether what was owed was closed so, and nothing else happened to it.
pub(super) fn is_closed(unsent: &Unsent, ledger: &TaskLedger) -> bool {
    ledger.entry(unsent.closed_by).is_some() && ledger.owed_cents(unsent.kind) == 0
}
