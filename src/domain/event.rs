//! The types of event that a developer can hear about.

use super::words::words;

words!(EventType {
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
    WorkerVerified = "worker.verified",
});
