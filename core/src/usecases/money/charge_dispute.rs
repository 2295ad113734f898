//! Disputes of charges. The money of a disputed charge stays where it is until the bank has decided.

use crate::ambient;
use crate::domain::events::to_workers;
use crate::domain::money::amount::dollars;
use crate::domain::{
    Actor, ChargeDispute, ChargeDisputeStatus, ChargeStanding, Entry, HeldBecause,
    NotificationKind, ProcessorName, QueueItem, QueueItemId, QueueKind, Step, Task, TaskId,
    Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::review_queue;
use crate::usecases::events::notify;

/// What the processor tells of a dispute.
#[derive(Clone, Copy, Debug)]
pub struct DisputeNews<'a> {
    pub payment: &'a str,
    pub dispute: &'a str,
    pub cents: i64,
    pub status: ChargeDisputeStatus,
    pub reason: &'a str,
}

/// Records a dispute, or what became of it. Events arrive twice and in any order; a dispute of a
/// payment that is not ours is ignored.
pub fn charge_disputed(
    tx: &mut Tx<'_>,
    from: ProcessorName,
    news: &DisputeNews<'_>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let Some(id) = tx.task_of_payment(from, news.payment)? else {
        return Ok(());
    };
    let Some(task) = tx.any_task_to_change(id)? else {
        return Ok(());
    };
    let known = tx.charge_dispute(from, news.dispute)?;
    if let Some(known) = &known
        && !news.status.follows(known.status)
    {
        return Ok(());
    }
    tx.put_charge_dispute(&ChargeDispute {
        processor: from,
        id: news.dispute.to_owned(),
        task: id,
        cents: news.cents,
        status: news.status,
        reason: news.reason.to_owned(),
        created_at: known.map_or(now, |known| known.created_at),
        updated_at: now,
    })?;
    follow_up(tx, &task, news, now)
}

fn follow_up(
    tx: &mut Tx<'_>,
    task: &Task,
    news: &DisputeNews<'_>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (text, kind) = (text(news), QueueKind::ChargeDispute);
    // Before the totals and the review queue, as all locks are taken.
    if matches!(
        news.status,
        ChargeDisputeStatus::Won | ChargeDisputeStatus::Lost
    ) {
        tx.wake_jobs(&HeldBecause::ChargeDisputed.waits_for(task.id), now)?;
    }
    if news.status == ChargeDisputeStatus::Lost
        && let Some(step) = tx.ledger_of_task(task.id)?.next_dispute_lost()
    {
        tx.post(&Entry::dispute_lost(task, step, news.cents, now))?;
    }
    tx.note_in_history(task, &Actor::PROCESSOR, &text, now)?;
    let standing = ChargeStanding::of(&tx.charge_disputes_of(task.id)?);
    if standing == ChargeStanding::Undisputed {
        let subject = task.id.to_string();
        return Ok(tx.close_queue_items_of(kind, &subject, None, now)?);
    }
    review_queue::add_about_task(tx, kind, task, &text, now)
}

fn text(news: &DisputeNews<'_>) -> String {
    let (amount, reason) = (dollars(news.cents), news.reason);
    match news.status {
        ChargeDisputeStatus::Inquiry => {
            format!("The payer's bank asks about the payment: {amount}, {reason}.")
        }
        ChargeDisputeStatus::Open => {
            format!("The payer disputes the payment: {amount}, {reason}.")
        }
        ChargeDisputeStatus::Won => format!("The dispute of {amount} was won."),
        ChargeDisputeStatus::Lost => {
            format!("The dispute was lost: {amount} of the payment were taken back.")
        }
    }
}

/// What the disputes of a task's charge mean for money that is about to go out.
pub fn charge_standing(tx: &mut Tx<'_>, task: TaskId) -> Result<ChargeStanding, UseCaseError> {
    Ok(ChargeStanding::of(&tx.charge_disputes_of(task)?))
}

/// The developer has got so much back by the lost dispute, so it is not refunded.
pub fn refund_offset(
    tx: &mut Tx<'_>,
    id: TaskId,
    cents: i64,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let Some(task) = tx.any_task_to_change(id)? else {
        return Ok(());
    };
    let ledger = tx.ledger_of_task(id)?;
    if ledger.owed_refund_cents() >= cents && ledger.entry(Step::RefundOffset).is_none() {
        tx.post(&Entry::closing(&task, Step::RefundOffset, cents, now))?;
    }
    Ok(())
}

/// The bank of a worker did not take what the processor paid out. The money is on the worker's account
/// at the processor.
pub fn bank_payout_failed(
    tx: &mut Tx<'_>,
    from: ProcessorName,
    payout_account: &str,
    (cents, reason): (i64, &str),
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let Some(account) = tx.payout_account_by_id(from, payout_account)? else {
        return Ok(());
    };
    let id = QueueItemId::new(now, &ambient::random_for_id());
    let amount = dollars(cents);
    let (worker, kind) = (account.worker, NotificationKind::PayoutAccountAttention);
    let text = to_workers::bank_refused(cents);
    notify::worker(tx, worker, kind, format!("bank_refused:{id}"), text, now)?;
    Ok(tx.add_queue_item(&QueueItem {
        worker: Some(account.worker),
        note: Some(format!(
            "The worker's bank refused a payout of {amount}: {reason}."
        )),
        ..QueueItem::new(id, QueueKind::PayoutFailed, account.worker, now)
    })?)
}
