//! The payout accounts of workers.

use crate::domain::{
    PayoutAccount, PayoutStatus, ProcessorName, Timestamp, WorkerId, WorkerStatus,
};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro payout_account;
    table payout_accounts;
    fn account_values<'a>(account: &'a PayoutAccount, now: Timestamp);
    columns {
        worker_id: account.worker,
        processor: account.processor,
        payout_account_id: &account.id,
        status: account.status,
    }
    inserted { created_at: now, updated_at: now }
    row PayoutAccount = PayoutAccount {
        worker: worker_id,
        processor,
        id: payout_account_id,
        status,
    };
}

crate::store::statements! {
    PUT = concat!(payout_account!(insert), " ON CONFLICT (worker_id, processor) DO NOTHING");
    OF_WORKER = concat!("SELECT ", payout_account!(columns), " FROM payout_accounts
        WHERE worker_id = ?1 AND processor = ?2");
    WITH_STATUS_OF_WORKER = concat!("SELECT (SELECT w.status FROM workers w
            WHERE w.id = payout_accounts.worker_id), ", payout_account!(columns), "
        FROM payout_accounts WHERE worker_id = ?1 AND processor = ?2");
    BY_PROCESSOR = concat!("SELECT ", payout_account!(columns), " FROM payout_accounts
        WHERE processor = ?1 AND payout_account_id = ?2");
    /// Events arrive in any order: an older one changes nothing.
    SET_STATUS = "UPDATE payout_accounts SET status = ?3, updated_at = ?4, changed_at = ?5
        WHERE worker_id = ?1 AND processor = ?2
            AND (changed_at < ?5 OR (changed_at = ?5 AND ?3 = 'ready'))";
}

impl Tx<'_> {
    /// Stores a worker's account with a processor, unless there is one already.
    pub fn add_payout_account(
        &mut self,
        account: &PayoutAccount,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(PUT, &account_values(account, now))
    }

    pub fn payout_account(
        &mut self,
        worker: WorkerId,
        processor: ProcessorName,
    ) -> Result<Option<PayoutAccount>, StoreError> {
        let values = [worker.into(), processor.into()];
        self.optional(OF_WORKER, &values)
    }

    /// The account, and the status of the worker. Simulated workers have none.
    pub fn payout_account_and_worker(
        &mut self,
        worker: WorkerId,
        processor: ProcessorName,
    ) -> Result<Option<(Option<WorkerStatus>, PayoutAccount)>, StoreError> {
        let values = [worker.into(), processor.into()];
        self.optional(WITH_STATUS_OF_WORKER, &values)
    }

    pub fn payout_account_by_id(
        &mut self,
        processor: ProcessorName,
        id: &str,
    ) -> Result<Option<PayoutAccount>, StoreError> {
        self.optional(BY_PROCESSOR, &[processor.into(), id.into()])
    }

    /// Stores a status that the processor told of at that time; false when it has told of a later one.
    pub fn set_payout_status(
        &mut self,
        account: &PayoutAccount,
        status: PayoutStatus,
        told_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [
            account.worker.into(),
            account.processor.into(),
            status.into(),
            now.into(),
            told_at.into(),
        ];
        let changed = self.execute(SET_STATUS, &values)? == 1;
        if changed {
            self.worker_changed(account.worker, now)?;
        }
        Ok(changed)
    }
}
