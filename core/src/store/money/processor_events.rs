//! Which events of the payment processor have been handled.

use crate::domain::{ProcessorName, Timestamp};
use crate::store::{StoreError, Tx};

crate::store::statements! {
    RECORD = "INSERT INTO processor_notices (processor, notice_id, received_at) VALUES (?1, ?2, ?3)
        ON CONFLICT (processor, notice_id) DO NOTHING";
    PRUNE = "DELETE FROM processor_notices WHERE (processor, notice_id) IN (
            SELECT processor, notice_id FROM processor_notices
            WHERE received_at <= ?1 ORDER BY received_at LIMIT 500)";
}

impl Tx<'_> {
    /// Records an event; false when it has been handled before.
    pub fn record_processor_event(
        &mut self,
        processor: ProcessorName,
        id: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [processor.into(), id.into(), now.into()];
        Ok(self.execute(RECORD, &values)? == 1)
    }

    /// Deletes a batch of events of that age or older; returns how many.
    pub fn prune_processor_events(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[before.into()])
    }
}
