//! Events: what happened to tasks, for developers.

pub mod notification;
pub mod push_settings;
pub mod to_workers;

use crate::domain::string_enum::string_enum;
use crate::domain::{EventId, TaskId, Timestamp};

string_enum!(EventType {
    TaskCreated = "task.created",
    TaskFunded = "task.funded",
    TaskPosted = "task.posted",
    TaskAssigned = "task.assigned",
    TaskStarted = "task.started",
    TaskProofSubmitted = "task.proof_submitted",
    TaskCompleted = "task.completed",
    TaskProofRejected = "task.proof_rejected",
    TaskCancelled = "task.cancelled",
    TaskExpired = "task.expired",
    TaskDisputed = "task.disputed",
    TaskRefunded = "task.refunded",
    /// Nobody could be charged. The task does not move.
    TaskPaymentFailed = "task.payment_failed",
    /// A refund has left the processor. The task does not move.
    TaskRefundPaid = "task.refund_paid",
    /// A person has to agree to the task. It does not move.
    TaskApprovalRequired = "task.approval_required",
    WorkerVerified = "worker.verified",
});

impl EventType {
    /// Whether the event carries a proof.
    pub const fn is_about_proof(self) -> bool {
        matches!(self, Self::TaskProofSubmitted | Self::TaskProofRejected)
    }
}

/// An event to record. The store assigns its number.
#[derive(Clone, Debug)]
pub struct NewEvent {
    pub event_type: EventType,
    pub task: Option<TaskId>,
    /// A JSON object, serialized.
    pub data: String,
}

/// An event of one account in one environment.
#[derive(Clone, Debug)]
pub struct Event {
    pub id: EventId,
    /// 1 to n, without gaps.
    pub number: i64,
    pub event_type: EventType,
    pub task: Option<TaskId>,
    pub data: String,
    pub created_at: Timestamp,
}
