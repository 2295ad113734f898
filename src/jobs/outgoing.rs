//! Outgoing money: refunds to developers and transfers to workers.

use std::time::Duration;

use super::charge::made_here;
use super::{Done, Failure, Jobs, task_id};
use crate::domain::{Payment, PayoutAccount, PayoutStatus, Step, TaskId, TaskLedger, WorkerId};
use crate::payments::Outgoing;
use crate::store::{ClaimedJob, StoreError};
use crate::usecases;

/// A transfer that waits for a payout account is woken when the account is ready. This covers the
/// case that the account became ready just when the transfer started to wait.
const RECHECK_AFTER: Duration = Duration::from_secs(60 * 60);

pub async fn refund(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let id = task_id(job)?;
    let (payment, ledger) = read(jobs, id).await?;
    let cents = ledger.owed_refund_cents();
    if cents == 0 {
        return jobs.finish(job).await;
    }
    let refund = outgoing(jobs, job, &payment, cents, ledger.refunded_cents())?;
    jobs.processor.refund(&refund).await?;
    jobs.record(job, move |tx, now| usecases::refunded(tx, id, cents, now))
        .await
}

pub async fn transfer(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let id = task_id(job)?;
    let (payment, ledger) = read(jobs, id).await?;
    let cents = ledger.owed_payout_cents();
    if cents == 0 {
        return jobs.finish(job).await;
    }
    let worker = ledger
        .entry(Step::Settlement)
        .and_then(|entry| entry.worker)
        .ok_or_else(|| Failure::Unexpected("the task has no worker".to_owned()))?;
    let Some(account) = ready_account(jobs, worker).await? else {
        return Ok(Done::Waits {
            waits_for: Some(usecases::waits_for_payout_account(worker)),
            recheck_after: RECHECK_AFTER,
        });
    };
    let transfer = outgoing(jobs, job, &payment, cents, ledger.transferred_cents())?;
    jobs.processor.transfer(&transfer, &account.id).await?;
    jobs.record(job, move |tx, now| {
        usecases::transferred(tx, id, cents, now)
    })
    .await
}

fn outgoing(
    jobs: &Jobs,
    job: &ClaimedJob,
    payment: &Payment,
    cents: i64,
    already_cents: i64,
) -> Result<Outgoing, Failure> {
    made_here(jobs, payment)?;
    let intent = payment.intent.as_ref();
    let intent =
        intent.ok_or_else(|| Failure::Unexpected("the payment has no intent".to_owned()))?;
    Ok(Outgoing {
        task: payment.task,
        payment: intent.id.clone(),
        cents,
        already_cents,
        is_retry: job.started_before,
    })
}

async fn read(jobs: &Jobs, id: TaskId) -> Result<(Payment, TaskLedger), Failure> {
    let (payment, ledger) = jobs
        .store
        .read(move |tx| Ok::<_, StoreError>((tx.payment(id)?, tx.ledger_of_task(id)?)))
        .await?;
    let payment =
        payment.ok_or_else(|| Failure::Unexpected("the payment does not exist".to_owned()))?;
    Ok((payment, ledger))
}

async fn ready_account(jobs: &Jobs, worker: WorkerId) -> Result<Option<PayoutAccount>, Failure> {
    let processor = jobs.processor.name();
    let account = jobs
        .store
        .read(move |tx| tx.payout_account(worker, processor))
        .await?;
    Ok(account.filter(|account| account.status == PayoutStatus::Ready))
}
