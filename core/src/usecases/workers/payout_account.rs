//! A worker's payout account at the payment processor.

use crate::domain::events::to_workers;
use crate::domain::{
    NotificationKind, PayoutAccount, PayoutStatus, ProcessorName, Timestamp, WorkerId,
};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::events::notify;

/// Whether a worker can be paid through this processor.
pub fn payout_status(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    processor: ProcessorName,
) -> Result<PayoutStatus, StoreError> {
    let account = tx.payout_account(worker, processor)?;
    Ok(account.map_or(PayoutStatus::None, |account| account.status))
}

/// Records the account that the processor opened for a worker.
pub fn payout_account_opened(
    tx: &mut Tx<'_>,
    worker: WorkerId,
    processor: ProcessorName,
    id: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let account = PayoutAccount {
        worker,
        processor,
        id: id.to_owned(),
        status: PayoutStatus::Pending,
    };
    Ok(tx.add_payout_account(&account, now)?)
}

/// Records whether the account could receive payouts at that time. Transfers that waited for it are made
/// due. A worker whose account cannot receive them any more is told.
pub fn payout_account_changed(
    tx: &mut Tx<'_>,
    processor: ProcessorName,
    id: &str,
    (ready, at): (bool, Timestamp),
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let Some(account) = tx.payout_account_by_id(processor, id)? else {
        return Ok(());
    };
    let status = if ready {
        PayoutStatus::Ready
    } else {
        PayoutStatus::Pending
    };
    let changed = tx.set_payout_status(&account, status, at, now)?;
    if ready && changed {
        tx.wake_jobs(&waits_for_payout_account(account.worker), now)?;
    }
    if !ready && changed && account.status == PayoutStatus::Ready {
        let occasion = format!("payout_account:{}:{}", account.worker, at.as_millis());
        let kind = NotificationKind::PayoutAccountAttention;
        let text = to_workers::payout_account_attention();
        notify::worker(tx, account.worker, kind, occasion, text, now)?;
    }
    Ok(())
}

/// The key under which a transfer waits for a payout account.
pub fn waits_for_payout_account(worker: WorkerId) -> String {
    format!("payout_account:{worker}")
}
