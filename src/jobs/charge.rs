//! Incoming payments: charges default payment methods, and cancels payments that are no longer
//! needed.

use super::{Done, Failure, Jobs, task_id};
use crate::domain::{Payment, PaymentStatus, Status, TaskId};
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
    let intent = intent(jobs, id, &payment).await?;
    let Some(method) = &payment.method else {
        return jobs.finish(job).await;
    };
    let charged = match jobs.processor.charge(id, &intent, method).await {
        // The task was cancelled in the meantime, and its payment with it.
        Err(ProcessorError::Refused { .. }) if read(jobs, id).await?.0 != Status::Pending => {
            return cancel(jobs, job).await;
        }
        charged => charged?,
    };
    match charged {
        Charge::Succeeded => {
            jobs.record(job, move |tx, now| usecases::payment_succeeded(tx, id, now))
                .await
        }
        Charge::Declined(failure) => {
            jobs.record(job, move |tx, now| {
                usecases::payment_failed(tx, id, &failure, now)
            })
            .await
        }
        Charge::Processing => jobs.finish(job).await,
    }
}

/// The processor's id of the payment. It is recorded before anything is charged, so that a task is
/// never charged through two payments.
async fn intent(jobs: &Jobs, id: TaskId, payment: &Payment) -> Result<String, Failure> {
    if let Some(intent) = &payment.intent {
        made_here(jobs, payment)?;
        return Ok(intent.id.clone());
    }
    let method = payment.method.as_ref();
    let new = NewPayment {
        task: id,
        account: payment.account,
        amount_cents: payment.amount_cents,
        customer: method.and_then(|method| method.customer.clone()),
    };
    let intent = jobs.processor.create_payment(&new).await?;
    let status = match method {
        Some(_) => PaymentStatus::Processing,
        None => PaymentStatus::RequiresPayment,
    };
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
    let Some(intent) = &payment.intent else {
        return jobs
            .record(job, move |tx, now| usecases::payment_cancelled(tx, id, now))
            .await;
    };
    if payment.status == PaymentStatus::Succeeded {
        return jobs.finish(job).await;
    }
    made_here(jobs, &payment)?;
    match jobs.processor.cancel_payment(id, &intent.id).await? {
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
    let (task, payment) = jobs
        .store
        .read(move |tx| Ok::<_, StoreError>((tx.any_task(id)?, tx.payment(id)?)))
        .await?;
    match (task, payment) {
        (Some(task), Some(payment)) => Ok((task.status, payment)),
        _ => Err(Failure::Unexpected("the payment does not exist".to_owned())),
    }
}
