//! An entry in the history of a task: who moved it, and why.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{HistoryEntry, Status, Timestamp};
use crate::views::actor::ActorBody;
use crate::views::examples;

/// One move.
#[derive(Serialize, ToSchema)]
#[schema(as = HistoryEntry, example = json!(HistoryEntryBody::example()))]
pub struct HistoryEntryBody {
    /// Null for the creation.
    #[schema(required)]
    from: Option<Status>,
    to: Status,
    by: ActorBody,
    #[schema(required)]
    reason: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl HistoryEntryBody {
    fn example() -> Option<Self> {
        examples::assigned().history.pop().map(Self::from)
    }
}

impl From<HistoryEntry> for HistoryEntryBody {
    fn from(made: HistoryEntry) -> Self {
        Self {
            from: made.from,
            to: made.to,
            by: made.by.into(),
            reason: made.reason,
            created_at: made.created_at,
        }
    }
}
