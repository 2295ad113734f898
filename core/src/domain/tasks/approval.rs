//! A task that a limited key has created waits for a person's yes. Without one, it is never paid for.

use crate::domain::string_enum::string_enum;
use crate::domain::{Actor, ApiKeyId, Environment, Owner, Status, TaskId, Timestamp};

string_enum!(ApprovalStatus {
    Waiting = "waiting",
    Approved = "approved",
    Refused = "refused",
    /// Nobody decided in time.
    Expired = "expired",
    /// The task was cancelled first.
    Cancelled = "cancelled",
});

impl ApprovalStatus {
    /// What becomes of an approval whose task is over before anybody decided.
    pub fn after(status: Status) -> Self {
        match status {
            Status::Cancelled => Self::Cancelled,
            _ => Self::Expired,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    pub task: TaskId,
    pub owner: Owner,
    /// The key that created the task.
    pub key: ApiKeyId,
    pub budget_cents: i64,
    pub status: ApprovalStatus,
    /// The task expires then, unless somebody has agreed.
    pub expires_at: Timestamp,
    pub decided: Option<(Actor, Timestamp)>,
    pub created_at: Timestamp,
}

/// Where a signed-in person decides.
pub fn path(environment: Environment) -> String {
    format!("/dashboard/{environment}/approvals")
}
