//! Handles events of the payment processor, each once and in any order.

use crate::domain::{JobKind, JobName, ProcessorName, TaskId, Timestamp};
use crate::payments::{ProcessorEvent, ProcessorEventKind, sandbox};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::money::charge_dispute::{DisputeNews, bank_payout_failed, charge_disputed};
use crate::usecases::money::outgoing::money_returned;
use crate::usecases::money::payment::{payment_cancelled, payment_failed, payment_succeeded};
use crate::usecases::workers::payout_account::payout_account_changed;

pub fn receive_processor_event(
    tx: &mut Tx<'_>,
    from: ProcessorName,
    event: &ProcessorEvent,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if !tx.record_processor_event(from, &event.id, now)? {
        return Ok(());
    }
    processor_says(tx, from, &event.kind, now)
}

/// Handles what the processor says, in an event or when it was asked.
pub fn processor_says(
    tx: &mut Tx<'_>,
    from: ProcessorName,
    said: &ProcessorEventKind,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    // Unknown payments are ignored: the processor account may serve other systems too.
    let mut task = |payment: &str| -> Result<Option<TaskId>, UseCaseError> {
        Ok(tx.task_of_payment(from, payment)?)
    };
    match said {
        ProcessorEventKind::PaymentSucceeded { payment } => match task(payment)? {
            Some(task) => payment_succeeded(tx, task, now),
            None => Ok(()),
        },
        ProcessorEventKind::PaymentFailed { payment, failure } => match task(payment)? {
            Some(task) => payment_failed(tx, task, failure, now),
            None => Ok(()),
        },
        ProcessorEventKind::PaymentCancelled { payment } => match task(payment)? {
            Some(task) => payment_cancelled(tx, task, now),
            None => Ok(()),
        },
        ProcessorEventKind::PayoutAccountChanged {
            payout_account,
            ready,
            at,
        } => payout_account_changed(tx, from, payout_account, (*ready, *at), now),
        ProcessorEventKind::ChargeDisputed {
            payment,
            dispute,
            cents,
            status,
            reason,
        } => {
            let news = DisputeNews {
                payment,
                dispute,
                cents: *cents,
                status: *status,
                reason,
            };
            charge_disputed(tx, from, &news, now)
        }
        ProcessorEventKind::Returned(returned) => money_returned(tx, from, returned, now),
        ProcessorEventKind::PayoutFailed {
            payout_account,
            cents,
            reason,
        } => bank_payout_failed(tx, from, payout_account, (*cents, reason), now),
        ProcessorEventKind::Other => Ok(()),
    }
}

/// Handles an event of the sandbox processor, and removes its job.
pub fn receive_sandbox_event(
    tx: &mut Tx<'_>,
    id: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if let Some(event) = tx.sandbox_event(id)? {
        receive_processor_event(
            tx,
            ProcessorName::Sandbox,
            &sandbox::to_processor_event(&event),
            now,
        )?;
        tx.drop_sandbox_event(id)?;
    }
    Ok(tx.drop_job(&JobName::new(JobKind::SandboxEvent, id))?)
}
