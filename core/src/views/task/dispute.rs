//! A dispute about a task.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{Decision, Dispute, TaskId, Timestamp};
use crate::views::{Id, examples};

/// What both sides say, and the decision.
#[derive(Serialize, ToSchema)]
#[schema(as = Dispute, example = json!(DisputeBody::example()))]
pub struct DisputeBody {
    #[schema(value_type = Id)]
    task_id: String,
    /// The worker's objection to the rejection.
    #[schema(required)]
    statement: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    opened_at: Timestamp,
    /// What the developer says.
    #[schema(required)]
    developer_statement: Option<String>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    developer_stated_at: Option<Timestamp>,
    /// Null while undecided.
    #[schema(required)]
    decision: Option<Decision>,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    decided_at: Option<Timestamp>,
    /// The reason for the decision.
    #[schema(required)]
    note: Option<String>,
}

impl DisputeBody {
    pub fn of(task: TaskId, dispute: Dispute) -> Self {
        let (verdict, developer) = (dispute.verdict, dispute.developer);
        Self {
            task_id: task.to_string(),
            statement: dispute.statement,
            opened_at: dispute.opened_at,
            developer_stated_at: developer.as_ref().map(|said| said.stated_at),
            developer_statement: developer.map(|said| said.statement),
            decision: verdict.as_ref().map(|verdict| verdict.decision),
            decided_at: verdict.as_ref().map(|verdict| verdict.decided_at),
            note: verdict.and_then(|verdict| verdict.note),
        }
    }

    fn example() -> Option<Self> {
        let story = examples::decided();
        let dispute = Dispute::of(&story.history, &story.ledger())?;
        Some(Self::of(story.task.id, dispute))
    }
}
