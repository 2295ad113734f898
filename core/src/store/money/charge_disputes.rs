//! Disputes of charges, as the processor reports them.

use crate::domain::{ChargeDispute, ProcessorName, TaskId};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro dispute;
    table charge_disputes;
    fn dispute_values<'a>(dispute: &'a ChargeDispute);
    columns {
        processor: dispute.processor,
        dispute_id: &dispute.id,
        task_id: dispute.task,
        amount_cents: dispute.cents,
        status: dispute.status,
        reason: &dispute.reason,
        created_at: dispute.created_at,
        updated_at: dispute.updated_at,
    }
    row ChargeDispute = ChargeDispute {
        processor,
        id: dispute_id,
        task: task_id,
        cents: amount_cents,
        status,
        reason,
        created_at,
        updated_at,
    };
}

crate::store::statements! {
    PUT = concat!(dispute!(insert), " ON CONFLICT (processor, dispute_id) DO UPDATE
        SET amount_cents = excluded.amount_cents, status = excluded.status,
            reason = excluded.reason, updated_at = excluded.updated_at");
    ONE = concat!("SELECT ", dispute!(columns), " FROM charge_disputes
        WHERE processor = ?1 AND dispute_id = ?2");
    LOST = concat!("SELECT ", dispute!(columns), " FROM charge_disputes
        WHERE status = 'lost' AND (task_id, dispute_id) > (?1, ?2)
        ORDER BY task_id, dispute_id LIMIT ?3");
    OF_TASK = concat!("SELECT ", dispute!(columns), " FROM charge_disputes WHERE task_id = ?1");
}

impl Tx<'_> {
    /// The caller holds the task, and has checked that the status is news.
    pub fn put_charge_dispute(&mut self, dispute: &ChargeDispute) -> Result<(), StoreError> {
        self.defer(PUT, &dispute_values(dispute))
    }

    pub fn charge_dispute(
        &mut self,
        processor: ProcessorName,
        id: &str,
    ) -> Result<Option<ChargeDispute>, StoreError> {
        self.optional(ONE, &[processor.into(), id.into()])
    }

    /// Up to `limit` disputes that were lost, by task, after the given one.
    pub fn lost_disputes_after(
        &mut self,
        after: Option<&ChargeDispute>,
        limit: i64,
    ) -> Result<Vec<ChargeDispute>, StoreError> {
        let task = after.map_or_else(String::new, |after| after.task.to_string());
        let dispute = after.map_or("", |after| after.id.as_str());
        self.all(LOST, &[task.into(), dispute.into(), limit.into()])
    }

    pub fn charge_disputes_of(&mut self, task: TaskId) -> Result<Vec<ChargeDispute>, StoreError> {
        self.all(OF_TASK, &[task.into()])
    }
}
