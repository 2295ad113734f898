//! Where workers are paid.

use crate::domain::{PayoutAccount, PayoutStatus, ProcessorName, Timestamp, WorkerId};
use crate::store::{Row, StoreError, Tx};

crate::store::statements! {
    PUT = "INSERT INTO payout_accounts (worker_id, processor, payout_account_id, status,
            created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?5)
        ON CONFLICT (worker_id, processor) DO NOTHING";
    OF_WORKER = "SELECT worker_id, processor, payout_account_id, status FROM payout_accounts
        WHERE worker_id = ?1 AND processor = ?2";
    BY_PROCESSOR = "SELECT worker_id, processor, payout_account_id, status FROM payout_accounts
        WHERE processor = ?1 AND payout_account_id = ?2";
    SET_STATUS = "UPDATE payout_accounts SET status = ?3, updated_at = ?4
        WHERE worker_id = ?1 AND processor = ?2";
}

impl Tx<'_> {
    /// Stores a worker's account with a processor; one that is there already stays.
    pub fn add_payout_account(
        &mut self,
        account: &PayoutAccount,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            account.worker.to_string().into(),
            account.processor.as_str().into(),
            (&account.id).into(),
            account.status.as_str().into(),
            now.into(),
        ];
        self.defer(PUT, &values)
    }

    pub fn payout_account(
        &mut self,
        worker: WorkerId,
        processor: ProcessorName,
    ) -> Result<Option<PayoutAccount>, StoreError> {
        let values = [worker.to_string().into(), processor.as_str().into()];
        self.optional(OF_WORKER, &values, read)
    }

    pub fn payout_account_by_id(
        &mut self,
        processor: ProcessorName,
        id: &str,
    ) -> Result<Option<PayoutAccount>, StoreError> {
        self.optional(BY_PROCESSOR, &[processor.as_str().into(), id.into()], read)
    }

    pub fn set_payout_status(
        &mut self,
        account: &PayoutAccount,
        status: PayoutStatus,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.execute_one(
            SET_STATUS,
            &[
                account.worker.to_string().into(),
                account.processor.as_str().into(),
                status.as_str().into(),
                now.into(),
            ],
        )
    }
}

fn read(row: &Row<'_>) -> Result<PayoutAccount, StoreError> {
    Ok(PayoutAccount {
        worker: row.parse(0, WorkerId::parse)?,
        processor: row.parse(1, ProcessorName::parse)?,
        id: row.get(2)?,
        status: row.parse(3, PayoutStatus::parse)?,
    })
}
