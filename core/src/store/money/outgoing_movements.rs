//! Refunds and transfers by the processor's ids.

use crate::domain::{OutgoingKind, ProcessorName, Step, TaskId, Timestamp};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro movement;
    table outgoing_movements;
    fn movement_values<'a>(movement: &'a OutgoingMovement, now: Timestamp);
    columns {
        processor: movement.processor,
        movement_id: &movement.id,
        task_id: movement.task,
        kind: movement.kind,
        recorded_step: movement.recorded,
        returned_cents: movement.returned_cents,
        returned_because: &movement.returned_because,
    }
    inserted { created_at: now }
    row OutgoingMovement = OutgoingMovement {
        processor,
        id: movement_id,
        task: task_id,
        kind,
        recorded: recorded_step,
        returned_cents,
        returned_because,
    };
}

crate::store::statements! {
    PUT = concat!(movement!(insert), " ON CONFLICT (processor, movement_id) DO UPDATE
        SET recorded_step = excluded.recorded_step, returned_cents = excluded.returned_cents,
            returned_because = excluded.returned_because");
    OF_TASK = concat!("SELECT ", movement!(columns), " FROM outgoing_movements WHERE task_id = ?1");
}

/// What is known of a refund or a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMovement {
    pub processor: ProcessorName,
    /// The processor's id.
    pub id: String,
    pub task: TaskId,
    pub kind: OutgoingKind,
    /// The step of the ledger that records it; none until the ledger has it.
    pub recorded: Option<Step>,
    /// How much of it came back, in all.
    pub returned_cents: i64,
    pub returned_because: Option<String>,
}

impl Tx<'_> {
    /// The caller holds the task.
    pub fn put_outgoing_movement(
        &mut self,
        movement: &OutgoingMovement,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(PUT, &movement_values(movement, now))
    }

    pub fn outgoing_movements_of(
        &mut self,
        task: TaskId,
    ) -> Result<Vec<OutgoingMovement>, StoreError> {
        self.all(OF_TASK, &[task.into()])
    }
}
