//! Incoming payments: charges default payment methods, and cancels payments that are no longer
//! needed.

use super::{Done, Failure, Jobs, task_id};
use crate::domain::{
    AccountId, ChargedMethod, Payment, PaymentIntent, PaymentStatus, Status, TaskId,
};
use crate::payments::{Cancellation, Charge, NewPayment, ProcessorError};
use crate::store::{ClaimedJob, StoreError};
use crate::usecases;

/// Creates the payment at the processor, and charges the default method if there is one.
pub async fn charge(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let id = task_id(job)?;
    let (status, payment) = read(jobs, id).await?;
    if status != Status::Pending {
        // A process that died may have charged it after the task ended. Cancelling finds out.
        return cancel(jobs, job).await;
    }
    if payment.status != PaymentStatus::Processing {
        return jobs.finish(job).await;
    }
    let Some(method) = &payment.method else {
        intent(jobs, id, &payment).await?;
        return jobs.finish(job).await;
    };
    match ask(jobs, &payment, method).await? {
        // The task was cancelled in the meantime, and its payment with it.
        Err(ProcessorError::Refused { .. }) if read(jobs, id).await?.0 != Status::Pending => {
            cancel(jobs, job).await
        }
        charged => record(jobs, job, payment.account, charged?).await,
    }
}

/// Charges the payment. Also returns the payment if it was created in the same request, and so is not
/// recorded yet.
async fn ask(
    jobs: &Jobs,
    payment: &Payment,
    method: &ChargedMethod,
) -> Result<Result<Charged, ProcessorError>, Failure> {
    if payment.intent.is_none() {
        let new = new_payment(payment);
        match jobs.processor.create_and_charge(&new, method).await {
            Ok(None) => {}
            Ok(Some((intent, charge))) => return Ok(Ok((Some(intent), charge))),
            Err(error) => return Ok(Err(error)),
        }
    }
    let id = payment.task;
    let intent = intent(jobs, id, payment).await?;
    let charged = jobs.processor.charge(id, &intent, method).await;
    Ok(charged.map(|charge| (None, charge)))
}

type Charged = (Option<PaymentIntent>, Charge);

async fn record(
    jobs: &Jobs,
    job: &ClaimedJob,
    account: AccountId,
    (created, charge): Charged,
) -> Result<Done, Failure> {
    let (id, processor) = (task_id(job)?, jobs.processor.name());
    jobs.record_for(account, job, move |tx, now| match (&created, &charge) {
        (Some(intent), charge) => {
            usecases::payment_charged(tx, id, (processor, intent), charge, now)
        }
        (None, Charge::Succeeded) => usecases::payment_succeeded(tx, id, now),
        (None, Charge::Declined(failure)) => usecases::payment_failed(tx, id, failure, now),
        (None, Charge::Processing) => Ok(()),
    })
    .await
}

fn new_payment(payment: &Payment) -> NewPayment {
    let method = payment.method.as_ref();
    NewPayment {
        task: payment.task,
        account: payment.account,
        amount_cents: payment.amount_cents,
        customer: method.and_then(|method| method.customer.clone()),
    }
}

/// The processor's id of the payment. It is recorded before anything is charged, so that a task is
/// never charged through two payments.
async fn intent(jobs: &Jobs, id: TaskId, payment: &Payment) -> Result<String, Failure> {
    if let Some(intent) = &payment.intent {
        made_here(jobs, payment)?;
        return Ok(intent.id.clone());
    }
    let intent = jobs.processor.create_payment(&new_payment(payment)).await?;
    let status = match payment.method {
        Some(_) => PaymentStatus::Processing,
        None => PaymentStatus::RequiresPayment,
    };
    record_intent(jobs, id, intent, status).await
}

async fn record_intent(
    jobs: &Jobs,
    id: TaskId,
    intent: PaymentIntent,
    status: PaymentStatus,
) -> Result<String, Failure> {
    let (processor, clock) = (jobs.processor.name(), jobs.clock.clone());
    let recorded = jobs.store.write(move |tx| {
        tx.set_payment_intent(id, processor, &intent, status, clock.now())?;
        let payment = tx.payment(id)?.and_then(|payment| payment.intent);
        payment.ok_or_else(|| StoreError::Failed(format!("the payment of {id} does not exist")))
    });
    Ok(recorded.await?.id)
}

/// Cancels a payment. If it was paid in the meantime, the money is refunded.
pub async fn cancel(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let id = task_id(job)?;
    let (_, payment) = read(jobs, id).await?;
    if payment.status == PaymentStatus::Succeeded {
        return jobs.finish(job).await;
    }
    let Some(intent) = known_intent(jobs, id, &payment).await? else {
        return jobs
            .record(job, move |tx, now| usecases::payment_cancelled(tx, id, now))
            .await;
    };
    match jobs.processor.cancel_payment(id, &intent).await? {
        Cancellation::Cancelled => {
            jobs.record(job, move |tx, now| usecases::payment_cancelled(tx, id, now))
                .await
        }
        Cancellation::AlreadyPaid => {
            jobs.record(job, move |tx, now| usecases::payment_succeeded(tx, id, now))
                .await
        }
    }
}

/// The processor's id of a payment, if there is one. A process that died may have created and charged it
/// without recording it.
async fn known_intent(
    jobs: &Jobs,
    id: TaskId,
    payment: &Payment,
) -> Result<Option<String>, Failure> {
    if let Some(intent) = &payment.intent {
        made_here(jobs, payment)?;
        return Ok(Some(intent.id.clone()));
    }
    let Some(found) = jobs.processor.find_payment(id).await? else {
        return Ok(None);
    };
    let recorded = record_intent(jobs, id, found, payment.status).await?;
    Ok(Some(recorded))
}

/// A payment exists only at the processor it was created with.
pub(super) fn made_here(jobs: &Jobs, payment: &Payment) -> Result<(), Failure> {
    let here = jobs.processor.name();
    if payment.processor == here {
        return Ok(());
    }
    let there = payment.processor;
    Err(Failure::Permanent(format!(
        "the payment was created with {there}, but this server uses {here}"
    )))
}

async fn read(jobs: &Jobs, id: TaskId) -> Result<(Status, Payment), Failure> {
    let found = jobs.store.read(move |tx| tx.payment_and_status(id)).await?;
    match found {
        Some((Some(status), payment)) => Ok((status, payment)),
        _ => Err(Failure::Unexpected("the payment does not exist".to_owned())),
    }
}
