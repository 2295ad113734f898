//! Records what happened to the payment of a live task. Each function may be called any number of
//! times and in any order: the first call counts.

use crate::domain::events::notification;
use crate::domain::{
    Action, Actor, Entry, JobKind, JobName, NotificationKind, Payment, PaymentFailure,
    PaymentStatus, Status, Task, TaskId, Timestamp,
};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::events::notify;
use crate::usecases::tasks::transition;

/// The payment succeeded. The task is posted at once. If it has already ended, the money is
/// refunded.
pub fn payment_succeeded(tx: &mut Tx<'_>, id: TaskId, now: Timestamp) -> Result<(), UseCaseError> {
    let (task, payment) = held(tx, id)?;
    if payment.status == PaymentStatus::Succeeded {
        return Ok(());
    }
    tx.set_payment_status(&payment, PaymentStatus::Succeeded, None, now)?;
    if task.status == Status::Pending {
        let funded = transition::make(tx, &task, Action::Pay, &Actor::PROCESSOR.into(), now)?;
        transition::make(tx, &funded, Action::Publish, &Actor::SERVICE.into(), now)?;
    } else {
        tx.post(&Entry::late_payment(&task, payment.amount_cents, now))?;
        tx.add_job(&JobName::new(JobKind::Refund, id), now)?;
    }
    Ok(())
}

/// The charge was declined. The developer has to pay in another way.
pub fn payment_failed(
    tx: &mut Tx<'_>,
    id: TaskId,
    failure: &PaymentFailure,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let (task, payment) = held(tx, id)?;
    let open = [PaymentStatus::Processing, PaymentStatus::RequiresPayment];
    if !open.contains(&payment.status) {
        return Ok(());
    }
    let status = PaymentStatus::RequiresPayment;
    tx.set_payment_status(&payment, status, Some(failure), now)?;
    // A person who pays sees the failure on the page. The developer would not notice that a charge
    // of the default method failed.
    if payment.method.is_some() && payment.status == PaymentStatus::Processing {
        let occasion = format!("payment_failed:{id}");
        let words = notification::payment_failed(&task, failure);
        let (account, kind) = (payment.account, NotificationKind::PaymentFailed);
        notify::developer(tx, account, kind, occasion, words, now)?;
    }
    Ok(())
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

fn held(tx: &mut Tx<'_>, id: TaskId) -> Result<(Task, Payment), UseCaseError> {
    let task = task(tx, id)?;
    let payment = tx.payment(id)?.ok_or_else(|| missing("payment", id))?;
    Ok((task, payment))
}

fn task(tx: &mut Tx<'_>, id: TaskId) -> Result<Task, UseCaseError> {
    let task = tx.any_task_to_change(id)?;
    Ok(task.ok_or_else(|| missing("task", id))?)
}

fn missing(what: &str, id: TaskId) -> StoreError {
    StoreError::Failed(format!("there is no {what} {id}"))
}
