//! Records what happened to the payment of a live task. Each function may be called any number of
//! times and in any order: the first call counts.

use crate::domain::events::notification;
use crate::domain::{
    Action, Actor, Entry, JobKind, JobName, NotificationKind, Payment, PaymentFailure,
    PaymentIntent, PaymentStatus, ProcessorName, Status, Task, TaskId, Timestamp,
};
use crate::payments::Charge;
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::events::notify;
use crate::usecases::tasks::by_clock;
use crate::usecases::tasks::transition::{self, Cause};
use crate::views::event;

/// The processor created the payment and charged it in one request.
pub fn payment_charged(
    tx: &mut Tx<'_>,
    id: TaskId,
    (processor, intent): (ProcessorName, &PaymentIntent),
    charge: &Charge,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (task, payment) = held(tx, id)?;
    let payment = tx.created_at_processor(payment, processor, intent)?;
    match charge {
        Charge::Succeeded if may_succeed(&payment) => succeeded(tx, &task, &payment, now),
        Charge::Declined(failure) if may_fail(&payment) => {
            failed(tx, &task, &payment, failure, now)
        }
        _ => Ok(tx.set_payment_intent(id, processor, intent, now)?),
    }
}

/// Whether it is news that the payment succeeded.
fn may_succeed(payment: &Payment) -> bool {
    payment.status != PaymentStatus::Succeeded
}

fn may_fail(payment: &Payment) -> bool {
    let open = [PaymentStatus::Processing, PaymentStatus::RequiresPayment];
    open.contains(&payment.status)
}

/// The payment succeeded. The task is posted at once. If it has already ended, or its deadline has
/// passed, the money is refunded.
pub fn payment_succeeded(tx: &mut Tx<'_>, id: TaskId, now: Timestamp) -> Result<(), UseCaseError> {
    let (task, payment) = held(tx, id)?;
    succeeded(tx, &task, &payment, now)
}

fn succeeded(
    tx: &mut Tx<'_>,
    task: &Task,
    payment: &Payment,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if !may_succeed(payment) {
        return Ok(());
    }
    tx.set_payment_status(payment, PaymentStatus::Succeeded, None, now)?;
    if task.status == Status::Pending && !task.is_overdue(now) {
        let paid = task.act(Action::Pay, now)?;
        let published = paid.task.act(Action::Publish, now)?;
        let [processor, service] = [Actor::PROCESSOR, Actor::SERVICE].map(Cause::from);
        return transition::write_all(tx, &[(&paid, &processor), (&published, &service)], now);
    }
    if task.status == Status::Pending {
        by_clock::expire(tx, task, now)?;
    }
    tx.post(&Entry::late_payment(task, payment.amount_cents, now))?;
    tx.add_job(&JobName::new(JobKind::Refund, task.id), now)?;
    Ok(tx.wake_jobs(&charge_of(task.id), now)?)
}

/// The charge was declined. The developer has to pay in another way.
pub fn payment_failed(
    tx: &mut Tx<'_>,
    id: TaskId,
    failure: &PaymentFailure,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (task, payment) = held(tx, id)?;
    failed(tx, &task, &payment, failure, now)
}

fn failed(
    tx: &mut Tx<'_>,
    task: &Task,
    payment: &Payment,
    failure: &PaymentFailure,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if !may_fail(payment) {
        return Ok(());
    }
    let status = PaymentStatus::RequiresPayment;
    tx.set_payment_status(payment, status, Some(failure), now)?;
    if task.status.is_final() {
        return Ok(tx.wake_jobs(&charge_of(task.id), now)?);
    }
    // The processor may say the same once more.
    let is_news =
        payment.status == PaymentStatus::Processing || payment.failure.as_ref() != Some(failure);
    if is_news {
        let event = event::of_failed_payment(task, failure)?;
        tx.add_event(task.owner, &event, now)?;
    }
    // A person who pays sees the failure on the page. The developer would not notice that a charge
    // of the default method failed.
    if payment.method.is_some() && payment.status == PaymentStatus::Processing {
        let occasion = format!("payment_failed:{}", task.id);
        let words = notification::payment_failed(task, failure);
        let (account, kind) = (payment.account, NotificationKind::PaymentFailed);
        notify::developer(tx, account, kind, occasion, words, now)?;
    }
    Ok(())
}

/// The payment exists at the processor and can be paid by hand.
pub fn payment_opened(tx: &mut Tx<'_>, id: TaskId, now: Timestamp) -> Result<(), UseCaseError> {
    let (_, payment) = held(tx, id)?;
    if payment.status == PaymentStatus::Processing && payment.method.is_none() {
        tx.set_payment_status(&payment, PaymentStatus::RequiresPayment, None, now)?;
    }
    Ok(())
}

/// What the job that cancels a payment waits for while the payment is being charged. It is woken by
/// what becomes known of the charge.
pub fn charge_of(task: TaskId) -> String {
    format!("charge:{task}")
}

/// The payment can no longer be made.
pub fn payment_cancelled(tx: &mut Tx<'_>, id: TaskId, now: Timestamp) -> Result<(), UseCaseError> {
    let (_, payment) = held(tx, id)?;
    if payment.status != PaymentStatus::Succeeded && payment.status != PaymentStatus::Cancelled {
        let failure = payment.failure.clone();
        tx.set_payment_status(&payment, PaymentStatus::Cancelled, failure.as_ref(), now)?;
    }
    Ok(())
}

/// The task and its payment, both locked.
fn held(tx: &mut Tx<'_>, id: TaskId) -> Result<(Task, Payment), UseCaseError> {
    let task = tx
        .any_task_to_move(id)?
        .ok_or_else(|| missing("task", id))?;
    let payment = tx
        .payment_to_change(id)?
        .ok_or_else(|| missing("payment", id))?;
    Ok((task, payment))
}

fn missing(what: &str, id: TaskId) -> StoreError {
    StoreError::Failed(format!("there is no {what} {id}"))
}
