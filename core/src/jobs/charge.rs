//! Incoming payments: charges default payment methods, and cancels payments that are no longer
//! needed.

use std::time::Duration;

use super::{Done, Failure, Jobs, task_id};
use crate::domain::{
    AccountId, ChargedMethod, JobKind, JobName, Payment, PaymentIntent, PaymentStatus, Status,
    TaskId,
};
use crate::payments::{Attempt, Cancellation, Charge, NewPayment, ProcessorError, RequestError};
use crate::store::{ClaimedJob, PaymentAndTask, StoreError};
use crate::usecases;

/// How soon the job that cancels a payment looks again whether it is still being charged.
const RECHECK: Duration = Duration::from_secs(1);

/// Processors remember idempotency keys for a day. Half of it, because clocks and backups are not exact.
const KEYS_ARE_REMEMBERED: Duration = Duration::from_secs(12 * 60 * 60);

/// Creates the payment at the processor, and charges the default method if there is one.
pub async fn charge(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let id = task_id(job)?;
    let PaymentAndTask {
        status,
        deadline,
        payment,
    } = read(jobs, id).await?;
    if status != Status::Pending {
        // A process that died may have charged it after the task ended. Cancelling finds out.
        return cancel(jobs, job).await;
    }
    if deadline.is_some_and(|deadline| deadline <= jobs.clock.now()) {
        return expire(jobs, job, payment.account).await;
    }
    let Some(method) = &payment.method else {
        intent(jobs, job, &payment).await?;
        return jobs
            .record(job, move |tx, now| usecases::payment_opened(tx, id, now))
            .await;
    };
    if payment.status != PaymentStatus::Processing {
        return jobs.finish(job).await;
    }
    match ask(jobs, job, &payment, method).await? {
        // The task was cancelled in the meantime, and its payment with it.
        Err(RequestError {
            error: ProcessorError::Refused { .. },
            ..
        }) if read(jobs, id).await?.status != Status::Pending => cancel(jobs, job).await,
        charged => record(jobs, job, payment.account, charged?).await,
    }
}

/// The deadline has passed, so nothing is charged. What a process that died may have charged, the
/// job that cancels the payment finds.
async fn expire(jobs: &Jobs, job: &ClaimedJob, account: AccountId) -> Result<Done, Failure> {
    let id = task_id(job)?;
    jobs.record_for(account, job, move |tx, now| {
        if usecases::expire_unpaid(tx, id, now)? {
            return Ok(());
        }
        // The task has a later deadline now, or is over: the job has to look again.
        let changed = "the task has changed since it was read";
        Err(StoreError::Unavailable(changed.to_owned()).into())
    })
    .await
}

/// Charges the payment. Also returns the payment if it was created in the same request, and so is not
/// recorded yet.
async fn ask(
    jobs: &Jobs,
    job: &ClaimedJob,
    payment: &Payment,
    method: &ChargedMethod,
) -> Result<Result<Charged, RequestError>, Failure> {
    let attempt = attempt(job, payment);
    if payment.intent.is_none() {
        let new = new_payment(attempt, payment);
        match jobs.processor.create_and_charge(&new, method).await {
            Ok(None) => {}
            Ok(Some((intent, charge))) => return Ok(Ok((Some(intent), charge))),
            Err(error) => return Ok(Err(error.into())),
        }
    }
    let intent = intent(jobs, job, payment).await?;
    let charged = jobs.processor.charge(attempt, &intent, method).await;
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

fn attempt(job: &ClaimedJob, payment: &Payment) -> Attempt {
    Attempt {
        keys_spent: job.keys_spent,
        ..Attempt::first(payment.task)
    }
}

fn new_payment(attempt: Attempt, payment: &Payment) -> NewPayment {
    let method = payment.method.as_ref();
    NewPayment {
        attempt,
        account: payment.account,
        amount_cents: payment.amount_cents,
        customer: method.and_then(|method| method.customer.clone()),
        wanted_since: payment.created_at,
    }
}

/// The processor's id of the payment. It is recorded before anything is charged, so that a task is
/// never charged through two payments.
async fn intent(jobs: &Jobs, job: &ClaimedJob, payment: &Payment) -> Result<String, Failure> {
    if let Some(intent) = &payment.intent {
        made_here(jobs, payment)?;
        return Ok(intent.id.clone());
    }
    let new = new_payment(attempt(job, payment), payment);
    let known = match may_exist(jobs, job, payment) {
        true => jobs.processor.find_payment(&new).await?,
        false => None,
    };
    let intent = match known {
        Some(known) => known,
        None => jobs.processor.create_payment(&new).await?,
    };
    record_intent(jobs, payment.task, intent).await
}

/// Whether the processor may have created the payment without that it is recorded here, so that a repeated
/// request could create a second one: an attempt failed, or this comes from a backup that is older than the
/// processor's memory.
fn may_exist(jobs: &Jobs, job: &ClaimedJob, payment: &Payment) -> bool {
    let old = payment.created_at.plus(KEYS_ARE_REMEMBERED) < jobs.clock.now();
    !jobs.processor.never_repeats() && (job.started_before || old)
}

async fn record_intent(jobs: &Jobs, id: TaskId, intent: PaymentIntent) -> Result<String, Failure> {
    let (processor, clock) = (jobs.processor.name(), jobs.clock.clone());
    let recorded = jobs.store.write(move |tx| {
        tx.set_payment_intent(id, processor, &intent, clock.now())?;
        let payment = tx.payment(id)?.and_then(|payment| payment.intent);
        payment.ok_or_else(|| StoreError::Failed(format!("the payment of {id} does not exist")))
    });
    Ok(recorded.await?.id)
}

/// Cancels a payment. If it was paid in the meantime, the money is refunded.
pub async fn cancel(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let id = task_id(job)?;
    let was_charge = job.name.kind == JobKind::Charge;
    // Asked first: of a charge that is over by then, the payment tells.
    let is_charging = !was_charge && is_being_charged(jobs, id).await?;
    let payment = read(jobs, id).await?.payment;
    if payment.status == PaymentStatus::Succeeded {
        return jobs.finish(job).await;
    }
    let attempt = attempt(job, &payment);
    let cancellation = match known_intent(jobs, attempt, &payment).await? {
        Some(intent) => jobs.processor.cancel_payment(attempt, &intent).await?,
        None if is_charging => {
            return Ok(Done::Waits {
                waits_for: Some(usecases::charge_of(id)),
                recheck_after: RECHECK,
            });
        }
        None => Cancellation::Cancelled,
    };
    jobs.record(job, move |tx, now| {
        if was_charge {
            // This has done its work.
            tx.drop_job(&JobName::new(JobKind::CancelPayment, id))?;
        }
        match cancellation {
            Cancellation::Cancelled => usecases::payment_cancelled(tx, id, now),
            Cancellation::AlreadyPaid => usecases::payment_succeeded(tx, id, now),
        }
    })
    .await
}

/// The processor's id of a payment, if there is one. A process that died may have created and charged it
/// without recording it.
async fn known_intent(
    jobs: &Jobs,
    attempt: Attempt,
    payment: &Payment,
) -> Result<Option<String>, Failure> {
    if let Some(intent) = &payment.intent {
        made_here(jobs, payment)?;
        return Ok(Some(intent.id.clone()));
    }
    let wanted = new_payment(attempt, payment);
    let Some(found) = jobs.processor.find_payment(&wanted).await? else {
        return Ok(None);
    };
    Ok(Some(record_intent(jobs, payment.task, found).await?))
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

/// Whether a job charges the payment, or is going to. As long as the processor knows nothing of the
/// payment, nobody can cancel it there, and the job may still create it: it must not be called cancelled
/// and succeed afterwards. If the job finds the task over, it cancels the payment itself.
async fn is_being_charged(jobs: &Jobs, id: TaskId) -> Result<bool, Failure> {
    let charge = JobName::new(JobKind::Charge, id);
    let found = jobs.store.read(move |tx| tx.job(&charge)).await?;
    Ok(found.is_some_and(|job| job.run_at.is_some()))
}

async fn read(jobs: &Jobs, id: TaskId) -> Result<PaymentAndTask, Failure> {
    let found = jobs.store.read(move |tx| tx.payment_and_task(id)).await?;
    found.ok_or_else(|| Failure::Unexpected("the payment does not exist".to_owned()))
}
