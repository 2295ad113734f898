//! A task: a piece of work at a place, with a budget.

pub mod approval;
pub mod dispute;
pub mod field;
pub mod history;
pub mod metadata;
pub mod moves;
pub mod pricing;
pub mod records;
pub mod windows;

use crate::domain::geo::Point;
use crate::domain::string_enum::string_enum;
use crate::domain::{ApiKeyId, Environment, Owner, TaskId, Tier, Timestamp, WorkerId};

pub use pricing::TaskType;

/// How many attempts a worker has before the developer gets a refund.
pub const MAX_PROOF_ATTEMPTS: i64 = 3;

/// The maximum size of metadata. Its contents are up to the caller.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;

/// Tasks that may be created by one request.
pub const MAX_BATCH: usize = 100;

string_enum!(
    /// The status of a task. `moves` lists every allowed change.
    Status {
        Pending = "pending",
        Funded = "funded",
        Posted = "posted",
        Assigned = "assigned",
        InProgress = "in_progress",
        ProofSubmitted = "proof_submitted",
        ProofRejected = "proof_rejected",
        Completed = "completed",
        Cancelled = "cancelled",
        Expired = "expired",
        Disputed = "disputed",
        Refunded = "refunded",
    }
);

impl Status {
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Cancelled | Self::Expired | Self::Refunded
        )
    }
}

string_enum!(Category {
    Photography = "photography",
    Inspection = "inspection",
    Delivery = "delivery",
    DataCollection = "data_collection",
    MysteryShopping = "mystery_shopping",
    Installation = "installation",
    Assembly = "assembly",
    Cleaning = "cleaning",
    Survey = "survey",
    RetailAudit = "retail_audit",
    Event = "event",
    Notary = "notary",
    Other = "other",
});

string_enum!(Skill {
    Photography = "photography",
    DataCollection = "data_collection",
    MysteryShopping = "mystery_shopping",
    Delivery = "delivery",
    Inspection = "inspection",
    Installation = "installation",
    Assembly = "assembly",
    Cleaning = "cleaning",
    Driving = "driving",
    SpanishSpeaking = "spanish_speaking",
    MandarinSpeaking = "mandarin_speaking",
    DataEntry = "data_entry",
    SignagePlacement = "signage_placement",
    FlyerDistribution = "flyer_distribution",
    SurveyTaking = "survey_taking",
    RetailAudit = "retail_audit",
    PriceChecking = "price_checking",
    InventoryCount = "inventory_count",
    WindowDisplay = "window_display",
    ProductDemo = "product_demo",
    EventStaffing = "event_staffing",
    Notary = "notary",
    SignatureCollection = "signature_collection",
});

string_enum!(Priority {
    Normal = "normal",
    Urgent = "urgent",
});

string_enum!(ProofType {
    Photo = "photo",
    Video = "video",
    Signature = "signature",
});

#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    pub address: Option<String>,
    pub city: String,
    pub state: String,
    pub latitude: f64,
    pub longitude: f64,
}

/// A task to create. Every rule has been checked.
#[derive(Clone, Debug)]
pub struct NewTask {
    pub title: String,
    pub description: String,
    pub instructions: Option<String>,
    pub category: Category,
    pub required_skills: Vec<Skill>,
    pub location: Location,
    pub budget_cents: i64,
    pub task_type: TaskType,
    pub priority: Priority,
    pub deadline: Option<Timestamp>,
    pub proof_types: Vec<ProofType>,
    /// A JSON object, serialized.
    pub metadata: String,
    /// The fee that was quoted. None for that of the tier.
    pub quoted_fee_percent: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub id: TaskId,
    pub owner: Owner,
    pub title: String,
    pub description: String,
    pub instructions: Option<String>,
    pub category: Category,
    pub required_skills: Vec<Skill>,
    pub location: Location,
    pub budget_cents: i64,
    pub task_type: TaskType,
    /// The fee rate at creation. A later change of tier does not affect it.
    pub fee_percent: i64,
    /// The amount currently in escrow.
    pub escrow_cents: i64,
    pub priority: Priority,
    pub status: Status,
    /// When the task entered its status. Windows such as the review time start here.
    pub status_since: Timestamp,
    pub worker: Option<WorkerId>,
    pub proof_attempts: i64,
    pub deadline: Option<Timestamp>,
    pub proof_types: Vec<ProofType>,
    pub metadata: String,
    pub funded_at: Option<Timestamp>,
    pub assigned_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub cancelled_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The key under whose mandate it was created. What is not spent comes back to it.
    pub mandate_key: Option<ApiKeyId>,
}

impl Task {
    pub fn is_live(&self) -> bool {
        self.owner.environment == Environment::Live
    }

    /// Whether the task is assigned to this worker.
    pub fn is_held_by(&self, worker: WorkerId) -> bool {
        self.is_live() && self.worker == Some(worker)
    }

    pub fn place(&self) -> Point {
        Point {
            latitude: self.location.latitude,
            longitude: self.location.longitude,
        }
    }

    pub fn create(id: TaskId, owner: Owner, tier: Tier, new: &NewTask, now: Timestamp) -> Self {
        let new = new.clone();
        let quoted = new.quoted_fee_percent;
        Self {
            id,
            owner,
            title: new.title,
            description: new.description,
            instructions: new.instructions,
            category: new.category,
            required_skills: new.required_skills,
            location: new.location,
            budget_cents: new.budget_cents,
            task_type: new.task_type,
            fee_percent: quoted.unwrap_or_else(|| pricing::fee_percent(tier, new.task_type)),
            escrow_cents: 0,
            priority: new.priority,
            status: Status::Pending,
            status_since: now,
            worker: None,
            proof_attempts: 0,
            deadline: new.deadline,
            proof_types: new.proof_types,
            metadata: new.metadata,
            funded_at: None,
            assigned_at: None,
            started_at: None,
            completed_at: None,
            cancelled_at: None,
            created_at: now,
            updated_at: now,
            mandate_key: None,
        }
    }

    /// How many proofs can still be submitted.
    pub fn attempts_left(&self) -> i64 {
        (MAX_PROOF_ATTEMPTS - self.proof_attempts).max(0)
    }

    pub fn split(&self) -> pricing::Split {
        pricing::split(self.budget_cents, self.fee_percent)
    }

    /// A task can be edited until it is paid for.
    pub fn edit(&self, edit: &TaskEdit, now: Timestamp) -> Result<Self, NotAllowed> {
        if self.status != Status::Pending {
            return Err(NotAllowed {
                status: self.status,
                what: "be updated",
            });
        }
        let mut task = self.clone();
        if edit.is_empty() {
            return Ok(task);
        }
        let edit = edit.clone();
        task.title = edit.title.unwrap_or(task.title);
        task.description = edit.description.unwrap_or(task.description);
        task.instructions = edit.instructions.unwrap_or(task.instructions);
        task.deadline = edit.deadline.unwrap_or(task.deadline);
        task.updated_at = now;
        Ok(task)
    }
}

/// The fields named in a PATCH. `Some(None)` clears a nullable field.
#[derive(Clone, Debug, Default)]
pub struct TaskEdit {
    pub title: Option<String>,
    pub description: Option<String>,
    pub instructions: Option<Option<String>>,
    pub deadline: Option<Option<Timestamp>>,
}

impl TaskEdit {
    fn is_empty(&self) -> bool {
        self.title.is_none()
            && self.description.is_none()
            && self.instructions.is_none()
            && self.deadline.is_none()
    }
}

/// The move is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task that is {status} cannot {what}")]
pub struct NotAllowed {
    pub status: Status,
    pub what: &'static str,
}

string_enum!(
    /// In which order a worker sees the tasks nearby.
    SearchOrder {
        Distance = "distance",
        Payout = "payout",
        Newest = "newest",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabularies_are_complete() {
        assert_eq!(Category::ALL.len(), 13);
        assert_eq!(Skill::ALL.len(), 23);
        assert_eq!(Status::ALL.len(), 12);
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(*status));
        }
    }
}
