//! The processor tells something. Each notice is handled once, and in any order.

use super::Refusal;
use super::payment::{payment_cancelled, payment_failed, payment_succeeded};
use super::payout_account::payout_account_changed;
use crate::domain::{JobKind, JobName, ProcessorName, TaskId, Timestamp};
use crate::payments::{News, Notice, sandbox};
use crate::store::Tx;

pub fn receive_notice(
    tx: &mut Tx<'_>,
    from: ProcessorName,
    notice: &Notice,
    now: Timestamp,
) -> Result<(), Refusal> {
    if !tx.note_processor_notice(from, &notice.id, now)? {
        return Ok(());
    }
    // A payment that we do not know is somebody else's: the processor may serve others as well.
    let mut task = |payment: &str| -> Result<Option<TaskId>, Refusal> {
        Ok(tx.task_of_payment(from, payment)?)
    };
    match &notice.news {
        News::PaymentSucceeded { payment } => match task(payment)? {
            Some(task) => payment_succeeded(tx, task, now),
            None => Ok(()),
        },
        News::PaymentFailed { payment, failure } => match task(payment)? {
            Some(task) => payment_failed(tx, task, failure, now),
            None => Ok(()),
        },
        News::PaymentCancelled { payment } => match task(payment)? {
            Some(task) => payment_cancelled(tx, task, now),
            None => Ok(()),
        },
        News::PayoutAccountChanged {
            payout_account,
            ready,
        } => payout_account_changed(tx, from, payout_account, *ready, now),
        News::Other => Ok(()),
    }
}

/// Takes a notice that the embedded processor has left for us, and the job to take it.
pub fn receive_sandbox_notice(tx: &mut Tx<'_>, id: &str, now: Timestamp) -> Result<(), Refusal> {
    if let Some(notice) = tx.sandbox_notice(id)? {
        receive_notice(tx, ProcessorName::Sandbox, &sandbox::news(&notice), now)?;
        tx.drop_sandbox_notice(id)?;
    }
    Ok(tx.drop_job(&JobName::new(JobKind::SandboxNotice, id))?)
}
