//! Outgoing money: refunds to developers and transfers to workers.

use std::time::Duration;

use super::charge::made_here;
use super::{Done, Failure, Jobs, task_id};
use crate::domain::{
    ChargeStanding, HeldBecause, OutgoingKind, Payment, PayoutAccount, PayoutStatus, ProcessorName,
    Step, TaskId, TaskLedger, Timestamp, WorkerId, WorkerStatus,
};
use crate::payments::{Attempt, Look, Made, Outgoing, ProcessorError};
use crate::store::{ClaimedJob, StoreError, Tx};
use crate::usecases::{self, Sent, UseCaseError};

/// A job that waits is woken by what it waits for. The end of a dispute is asked for all the same: its event
/// may be lost.
const RECHECK_AFTER: Duration = Duration::from_secs(60 * 60);
/// How soon a transfer that begins to wait looks once more. What it waits for may have happened after it
/// looked and before it waited: then nothing wakes it.
const SECOND_LOOK: Duration = Duration::from_secs(2);

const NO_ACCOUNT_ANY_MORE: &str =
    "The worker has left, and has no payout account that can receive this. Write it off.";

const CHARGED_BACK: &str =
    "The payer's bank took the payment back. Retry to pay the worker all the same.";

/// What a job needs to know of its task.
struct Money {
    payment: Payment,
    ledger: TaskLedger,
    standing: ChargeStanding,
    payee: Option<Payee>,
}

/// Who earned a payout.
struct Payee {
    worker: WorkerId,
    earned_at: Timestamp,
    /// None if there is no profile.
    status: Option<WorkerStatus>,
    account: Option<PayoutAccount>,
}

pub async fn refund(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let (id, kind) = (task_id(job)?, OutgoingKind::Refund);
    let (look, mut money) = ask(jobs, job, kind).await?;
    let mut cents = money.ledger.owed_refund_cents();
    if cents == 0 {
        return jobs.finish(job).await;
    }
    let earlier = match look {
        Look::Made(made) => return record(jobs, job, kind, made, &money).await,
        Look::NotMade { earlier } => earlier,
    };
    match money.standing {
        // The bank has the money, and may give it to the developer.
        ChargeStanding::Disputed => {
            return Ok(until_woken(job, HeldBecause::ChargeDisputed.waits_for(id)));
        }
        ChargeStanding::ChargedBack { cents: taken } => {
            offset(jobs, id, &money.ledger, taken).await?;
            money = read(jobs, id).await?;
            cents = money.ledger.owed_refund_cents();
            if cents == 0 {
                return jobs.finish(job).await;
            }
        }
        ChargeStanding::Undisputed | ChargeStanding::Inquired => {}
    }
    let refund = outgoing(jobs, job, &money, (kind, earlier))?;
    let id = jobs.processor.refund(&refund).await?;
    record(jobs, job, kind, just_made(id, cents), &money).await
}

/// Settles what the developer has got back by the lost dispute. The rest is refunded.
async fn offset(jobs: &Jobs, id: TaskId, ledger: &TaskLedger, taken: i64) -> Result<(), Failure> {
    let cents = ledger
        .owed_refund_cents()
        .min(taken - ledger.offset_cents());
    if cents <= 0 {
        return Ok(());
    }
    if ledger.entry(Step::RefundOffset).is_some() {
        let reason = "The payer's bank took another part of the payment back. \
            Arrange the refund with the developer.";
        return Err(Failure::Permanent(reason.to_owned()));
    }
    let clock = jobs.clock.clone();
    jobs.store
        .write(move |tx| usecases::refund_offset(tx, id, cents, clock.now()))
        .await?;
    Ok(())
}

pub async fn transfer(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let (id, kind) = (task_id(job)?, OutgoingKind::Transfer);
    let (look, money) = ask(jobs, job, kind).await?;
    let cents = money.ledger.owed_payout_cents();
    if cents == 0 {
        return jobs.finish(job).await;
    }
    let earlier = match look {
        Look::Made(made) => return record(jobs, job, kind, made, &money).await,
        Look::NotMade { earlier } => earlier,
    };
    let payee = money.payee.as_ref();
    let payee = payee.ok_or_else(|| Failure::Unexpected("the task has no worker".to_owned()))?;
    if let Some(held) = held(job, &money, payee)? {
        return Ok(held);
    }
    let now = jobs.clock.now();
    let due = payee.earned_at.plus(jobs.payout_hold);
    if due > now {
        let remaining = due.as_millis().saturating_sub(now.as_millis());
        return Ok(Done::Waits {
            waits_for: Some(HeldBecause::HoldPeriod.waits_for(id)),
            recheck_after: Duration::from_millis(remaining.unsigned_abs()),
        });
    }
    let account = payee.account.as_ref();
    let Some(account) = account.filter(|account| account.status == PayoutStatus::Ready) else {
        return without_account(job, payee);
    };
    let transfer = outgoing(jobs, job, &money, (kind, earlier))?;
    let id = jobs.processor.transfer(&transfer, &account.id).await?;
    record(jobs, job, kind, just_made(id, cents), &money).await
}

/// A transfer waits for the payout account. A worker who has left does not complete it, so an admin decides.
fn without_account(job: &ClaimedJob, payee: &Payee) -> Result<Done, Failure> {
    if payee.status == Some(WorkerStatus::Deleted) {
        return Err(Failure::Permanent(NO_ACCOUNT_ANY_MORE.to_owned()));
    }
    let account = usecases::waits_for_payout_account(payee.worker);
    Ok(until_woken(job, account))
}

/// Asks the processor what it knows. Returns how the money stands after that: the processor takes its time.
async fn ask(jobs: &Jobs, job: &ClaimedJob, kind: OutgoingKind) -> Result<(Look, Money), Failure> {
    let id = task_id(job)?;
    let money = read(jobs, id).await?;
    if money.ledger.owed_cents(kind) == 0 {
        return Ok((Look::NotMade { earlier: 0 }, money));
    }
    let asked = ask_about_disputes(jobs, job, &money.payment).await?;
    let look = look(jobs, job, &money, kind).await?;
    match asked || !is_needless(jobs, job) {
        true => Ok((look, read(jobs, id).await?)),
        false => Ok((look, money)),
    }
}

/// A processor that never repeats anything, and was not asked before, has nothing to tell.
fn is_needless(jobs: &Jobs, job: &ClaimedJob) -> bool {
    jobs.processor.never_repeats() && !job.started_before
}

/// The event that begins or ends a dispute may have been lost, or come after the backup that was restored. So the
/// processor is asked before money goes out. Returns whether it was.
async fn ask_about_disputes(
    jobs: &Jobs,
    job: &ClaimedJob,
    payment: &Payment,
) -> Result<bool, Failure> {
    let (id, here) = (payment.task, jobs.processor.name());
    let has_waited = job.waited_for == Some(HeldBecause::ChargeDisputed.waits_for(id));
    let intent = payment
        .intent
        .as_ref()
        .filter(|_| payment.processor == here);
    let Some(intent) = intent.filter(|_| has_waited || !jobs.processor.never_repeats()) else {
        return Ok(false);
    };
    let disputes = match jobs.processor.find_disputes(&intent.id).await {
        Ok(disputes) => disputes,
        // A job that waits does so on, and asks again. Who knows of no disputes has none to tell.
        Err(error) if has_waited || matches!(error, ProcessorError::Refused { .. }) => {
            tracing::warn!(job = %job.name, %error, "cannot ask about disputes");
            return Ok(true);
        }
        Err(error) => return Err(error.into()),
    };
    for said in disputes {
        let clock = jobs.clock.clone();
        jobs.store
            .write(move |tx| usecases::processor_says(tx, here, &said, clock.now()))
            .await?;
    }
    Ok(true)
}

/// What the processor has done of it. What has happened is recorded before anything is held, offset or given
/// up.
///
/// Also a job that was never started asks: it may come from a backup, and the money have gone out since, so
/// long ago that the processor has forgotten the idempotency key.
async fn look(
    jobs: &Jobs,
    job: &ClaimedJob,
    money: &Money,
    kind: OutgoingKind,
) -> Result<Look, Failure> {
    let elsewhere = money.payment.processor != jobs.processor.name();
    // Without a next step, nothing was requested since the last return.
    if is_needless(jobs, job) || elsewhere || money.ledger.next_step(kind).is_none() {
        return Ok(Look::NotMade { earlier: 0 });
    }
    let task = money.payment.task;
    let read = move |tx: &mut Tx<'_>| usecases::recorded_movements(tx, task, kind);
    let outgoing = Outgoing {
        recorded: jobs.store.read(read).await?,
        ..outgoing(jobs, job, money, (kind, 0))?
    };
    Ok(jobs.processor.look(kind, &outgoing).await?)
}

/// Whether a transfer has to wait for a dispute of the charge or for the worker to be restored.
fn held(job: &ClaimedJob, money: &Money, payee: &Payee) -> Result<Option<Done>, Failure> {
    match money.standing {
        ChargeStanding::Disputed | ChargeStanding::Inquired => {
            let task = money.payment.task;
            let end = HeldBecause::ChargeDisputed.waits_for(task);
            return Ok(Some(until_woken(job, end)));
        }
        // Given up, so that an admin decides. A retry after that is the decision to pay.
        ChargeStanding::ChargedBack { .. } if !job.pay_charged_back => {
            return Err(Failure::Permanent(CHARGED_BACK.to_owned()));
        }
        ChargeStanding::ChargedBack { .. } | ChargeStanding::Undisputed => {}
    }
    let suspended = payee.status == Some(WorkerStatus::Suspended);
    let restored = HeldBecause::WorkerSuspended.waits_for(payee.worker);
    Ok(suspended.then(|| until_woken(job, restored)))
}

fn until_woken(job: &ClaimedJob, waits_for: String) -> Done {
    let has_waited = job.waited_for.as_ref() == Some(&waits_for);
    Done::Waits {
        waits_for: Some(waits_for),
        recheck_after: match has_waited {
            true => RECHECK_AFTER,
            false => SECOND_LOOK,
        },
    }
}

fn outgoing(
    jobs: &Jobs,
    job: &ClaimedJob,
    money: &Money,
    (kind, earlier): (OutgoingKind, usize),
) -> Result<Outgoing, Failure> {
    let Money {
        payment, ledger, ..
    } = money;
    made_here(jobs, payment)?;
    if ledger.next_step(kind).is_none() {
        let reason = format!("The {kind} came back twice. Arrange it with the receiver.");
        return Err(Failure::Permanent(reason));
    }
    let intent = payment.intent.as_ref();
    let intent =
        intent.ok_or_else(|| Failure::Unexpected("the payment has no intent".to_owned()))?;
    Ok(Outgoing {
        attempt: Attempt {
            task: payment.task,
            earlier,
            keys_spent: job.keys_spent,
        },
        account: payment.account,
        payment: intent.id.clone(),
        cents: ledger.owed_cents(kind),
        already_cents: ledger.sent_cents(kind),
        recorded: Vec::new(),
    })
}

async fn record(
    jobs: &Jobs,
    job: &ClaimedJob,
    kind: OutgoingKind,
    made: Made,
    money: &Money,
) -> Result<Done, Failure> {
    let sent = Sent {
        task: task_id(job)?,
        kind,
        processor: jobs.processor.name(),
        id: made.id,
        cents: made.cents,
        returned_cents: made.returned_cents,
    };
    let account = money.payment.account;
    jobs.record_or_give_up(account, job, move |tx, now| {
        usecases::money_sent(tx, &sent, now)
    })
    .await
}

const fn just_made(id: String, cents: i64) -> Made {
    Made {
        id,
        cents,
        returned_cents: 0,
    }
}

async fn read(jobs: &Jobs, id: TaskId) -> Result<Money, Failure> {
    let processor = jobs.processor.name();
    let (payment, ledger, standing, payee) = jobs
        .store
        .read(move |tx| {
            let standing = usecases::charge_standing(tx, id)?;
            let (payment, ledger) = (tx.payment(id)?, tx.ledger_of_task(id)?);
            let payee = payee(tx, &ledger, processor)?;
            Ok::<_, UseCaseError>((payment, ledger, standing, payee))
        })
        .await?;
    let payment =
        payment.ok_or_else(|| Failure::Unexpected("the payment does not exist".to_owned()))?;
    Ok(Money {
        payment,
        ledger,
        standing,
        payee,
    })
}

fn payee(
    tx: &mut Tx<'_>,
    ledger: &TaskLedger,
    processor: ProcessorName,
) -> Result<Option<Payee>, StoreError> {
    let settlement = ledger.entry(Step::Settlement);
    let earned = settlement.and_then(|entry| Some((entry.worker?, entry.recorded_at)));
    let Some((worker, earned_at)) = earned else {
        return Ok(None);
    };
    let (status, account) = match tx.payout_account_and_worker(worker, processor)? {
        Some((status, account)) => (status, Some(account)),
        None => (tx.worker(worker)?.map(|worker| worker.status), None),
    };
    Ok(Some(Payee {
        worker,
        earned_at,
        status,
        account,
    }))
}
