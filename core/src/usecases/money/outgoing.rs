//! Records money that went out, and what of it came back: refunds that failed, transfers that were
//! reversed. The processor may tell of the return before we have recorded that it was made.

use crate::domain::events::notification;
use crate::domain::events::to_workers;
use crate::domain::money::amount::dollars;
use crate::domain::{
    Actor, ChargeStanding, Entry, JobKind, JobName, NotificationKind, OutgoingKind, ProcessorName,
    QueueKind, Step, Task, TaskId, TaskLedger, Timestamp,
};
use crate::payments::Returned;
use crate::store::{OutgoingMovement, StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::review_queue;
use crate::usecases::events::notify;
use crate::usecases::money::charge_dispute::charge_standing;
use crate::views::event;

/// A refund or a transfer that the processor made.
#[derive(Clone, Debug)]
pub struct Sent {
    pub task: TaskId,
    pub kind: OutgoingKind,
    pub processor: ProcessorName,
    /// The processor's id.
    pub id: String,
    pub cents: i64,
    /// What the processor says has come back of it. It also tells of returns by events.
    pub returned_cents: i64,
}

/// The processor's ids of what is recorded.
pub fn recorded_movements(
    tx: &mut Tx<'_>,
    task: TaskId,
    kind: OutgoingKind,
) -> Result<Vec<String>, StoreError> {
    let known = tx.outgoing_movements_of(task)?.into_iter();
    let recorded = known.filter(|known| known.kind == kind && known.recorded.is_some());
    Ok(recorded.map(|known| known.id).collect())
}

/// Records it. Returns why somebody has to look at it, if it has come back already.
pub fn money_sent(
    tx: &mut Tx<'_>,
    sent: &Sent,
    now: Timestamp,
) -> Result<Option<String>, UseCaseError> {
    let task = tx.any_task_to_move(sent.task)?;
    let task = task.ok_or_else(|| StoreError::Failed(format!("there is no task {}", sent.task)))?;
    let ledger = tx.ledger_of_task(task.id)?;
    let Some(step) = ledger.next_step(sent.kind) else {
        return Ok(None);
    };
    if ledger.owed_cents(sent.kind) != sent.cents {
        return Ok(None);
    }
    let known = tx.outgoing_movements_of(task.id)?;
    let known = known
        .into_iter()
        .find(|known| known.processor == sent.processor && known.id == sent.id);
    let returned_cents = known.as_ref().map_or(0, |known| known.returned_cents);
    let movement = OutgoingMovement {
        processor: sent.processor,
        id: sent.id.clone(),
        task: task.id,
        kind: sent.kind,
        recorded: Some(step),
        returned_cents: returned_cents.max(sent.returned_cents),
        returned_because: known.and_then(|known| known.returned_because),
    };
    let entry = Entry::outgoing(&task, sent.kind, step, sent.cents, now);
    tx.post(&entry)?;
    tx.put_outgoing_movement(&movement, now)?;
    if movement.returned_cents > 0 {
        let cents = movement.returned_cents;
        return record_return(tx, &task, &movement, cents, now).map(Some);
    }
    match sent.kind {
        OutgoingKind::Transfer => notify_worker(tx, &task, &ledger, sent.cents, now)?,
        OutgoingKind::Refund => {
            let event = event::of_paid_refund(&task, &ledger.with(entry))?;
            tx.add_event(task.owner, &event, now)?;
        }
    }
    Ok(None)
}

fn notify_worker(
    tx: &mut Tx<'_>,
    task: &Task,
    ledger: &TaskLedger,
    cents: i64,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let settlement = ledger.entry(Step::Settlement);
    let Some(worker) = settlement.and_then(|entry| entry.worker) else {
        return Ok(());
    };
    let (kind, occasion) = (NotificationKind::Payout, format!("payout:{}", task.id));
    let words = notification::paid(task, cents);
    notify::worker(tx, worker, kind, occasion, words, now)
}

/// The processor tells that money came back. It may tell it twice and in any order.
pub fn money_returned(
    tx: &mut Tx<'_>,
    from: ProcessorName,
    returned: &Returned,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let Some(task) = tx.any_task_to_change(returned.task)? else {
        return Ok(());
    };
    let payment = tx.payment(task.id)?;
    if payment.is_none_or(|payment| payment.processor != from) {
        return Ok(());
    }
    let known = known(tx, from, returned)?;
    let news = returned.cents - known.returned_cents;
    if news <= 0 {
        return Ok(());
    }
    let movement = OutgoingMovement {
        returned_cents: returned.cents,
        returned_because: Some(returned.reason.clone()),
        ..known
    };
    tx.put_outgoing_movement(&movement, now)?;
    // If it is not recorded yet, `money_sent` finds it.
    if movement.recorded.is_some() {
        record_return(tx, &task, &movement, news, now)?;
    }
    Ok(())
}

/// What is known of the refund or the transfer. Those that were made before ids were kept can be told
/// by the ledger.
fn known(
    tx: &mut Tx<'_>,
    from: ProcessorName,
    returned: &Returned,
) -> Result<OutgoingMovement, UseCaseError> {
    let known = tx.outgoing_movements_of(returned.task)?;
    let kept_none = known.iter().all(|known| known.kind != returned.kind);
    let this = |known: &OutgoingMovement| known.processor == from && known.id == returned.id;
    if let Some(known) = known.into_iter().find(this) {
        return Ok(known);
    }
    let [(first, _), _] = returned.kind.steps();
    let recorded = tx.ledger_of_task(returned.task)?.entry(first).is_some();
    Ok(OutgoingMovement {
        processor: from,
        id: returned.id.clone(),
        task: returned.task,
        kind: returned.kind,
        recorded: (kept_none && recorded).then_some(first),
        returned_cents: 0,
        returned_because: None,
    })
}

/// The amount is owed again. Whether it is sent again, an admin decides.
fn record_return(
    tx: &mut Tx<'_>,
    task: &Task,
    movement: &OutgoingMovement,
    cents: i64,
    now: Timestamp,
) -> Result<String, UseCaseError> {
    let amount = dollars(cents);
    let because = movement.returned_because.as_deref().unwrap_or("unknown");
    let (job, item, text) = match movement.kind {
        OutgoingKind::Refund => (
            JobKind::Refund,
            QueueKind::RefundFailed,
            format!("A refund of {amount} did not reach the developer: {because}."),
        ),
        OutgoingKind::Transfer => (
            JobKind::Transfer,
            QueueKind::TransferReversed,
            format!("{amount} of a transfer to the worker were reversed."),
        ),
    };
    let steps = movement.kind.steps().into_iter();
    let back = steps
        .filter(|(out, _)| Some(*out) == movement.recorded)
        .map(|(_, back)| back)
        .next();
    let ledger = tx.ledger_of_task(task.id)?;
    // A transfer can be reversed in several parts, and the ledger has each step once. The difference
    // shows when the ledger is verified.
    if let Some(step) = back.filter(|step| ledger.entry(*step).is_none()) {
        tx.add_dead_job(&JobName::new(job, task.id), &text, now)?;
        tx.post(&Entry::outgoing(task, movement.kind, step, -cents, now))?;
    }
    tx.note_in_history(task, &Actor::PROCESSOR, &text, now)?;
    review_queue::add_about_task(tx, item, task, &text, now)?;
    Ok(text)
}

/// A refund or a transfer was given up. The money stays owed, and an admin has to look.
pub fn money_not_sent(
    tx: &mut Tx<'_>,
    task: TaskId,
    kind: OutgoingKind,
    reason: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let item = match kind {
        OutgoingKind::Refund => QueueKind::RefundFailed,
        OutgoingKind::Transfer => QueueKind::FailedPayout,
    };
    let Some(task) = tx.any_task(task)? else {
        return Ok(());
    };
    if kind == OutgoingKind::Transfer {
        notify_of_failure(tx, &task, now)?;
    }
    review_queue::add_about_task(tx, item, &task, reason, now)
}

/// Tells the worker to look at the payout account, unless the money is held back for another reason: the
/// payer's bank took the payment back.
fn notify_of_failure(tx: &mut Tx<'_>, task: &Task, now: Timestamp) -> Result<(), UseCaseError> {
    let standing = charge_standing(tx, task.id)?;
    let Some(worker) = task.worker else {
        return Ok(());
    };
    if matches!(standing, ChargeStanding::ChargedBack { .. }) {
        return Ok(());
    }
    let cents = tx.ledger_of_task(task.id)?.owed_payout_cents();
    let occasion = format!("payout_failed:{}:{}", task.id, now.as_millis());
    let kind = NotificationKind::PayoutAccountAttention;
    let text = to_workers::payout_failed(task, cents);
    notify::worker(tx, worker, kind, occasion, text, now)
}
