//! A task that waits for a person's yes.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::Timestamp;
use crate::domain::tasks::approval::{Approval, ApprovalStatus};
use crate::views::actor::ActorBody;
use crate::views::{Id, examples};

/// Whether a person agrees to a task that a limited key has created.
#[derive(Serialize, ToSchema)]
#[schema(as = Approval, example = json!(ApprovalBody::example()))]
pub struct ApprovalBody {
    #[schema(value_type = Id)]
    task_id: String,
    status: ApprovalStatus,
    /// The key that created the task.
    #[schema(value_type = Id)]
    key_id: String,
    budget_cents: i64,
    /// Where a signed-in person decides.
    #[schema(example = "https://legwork.example.com/dashboard/live/approvals")]
    url: String,
    /// The task expires then, unless somebody has agreed.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// Null until somebody has decided, and if nobody did.
    #[schema(required)]
    decided_by: Option<ActorBody>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    decided_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl ApprovalBody {
    pub fn of(approval: &Approval, url: &str) -> Self {
        let decided = approval.decided.clone();
        let (decided_by, decided_at) = decided.unzip();
        Self {
            task_id: approval.task.to_string(),
            status: approval.status,
            key_id: approval.key.to_string(),
            budget_cents: approval.budget_cents,
            url: url.to_owned(),
            expires_at: approval.expires_at,
            decided_by: decided_by.map(ActorBody::from),
            decided_at,
            created_at: approval.created_at,
        }
    }

    pub fn example() -> Self {
        let url = "http://127.0.0.1:8080/dashboard/live/approvals";
        Self::of(&examples::approval(), url)
    }
}
