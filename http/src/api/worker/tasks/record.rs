//! How a developer has dealt with work so far, as workers see it.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{DeveloperRecord, Windows};

/// What is known of the developer of a task. Who it is is not told.
#[derive(Serialize, ToSchema)]
#[schema(as = DeveloperRecord)]
pub struct DeveloperRecordBody {
    tasks_completed: i64,
    /// The share of the work with a final outcome that was approved without a dispute, 0 to 1.
    approval_share: f64,
    /// Half of the reviews took at most so many hours. Null before the first.
    #[schema(required)]
    median_review_hours: Option<u64>,
}

impl DeveloperRecordBody {
    pub fn of(record: &DeveloperRecord, windows: &Windows) -> Option<Self> {
        record.is_enough().then(|| Self {
            tasks_completed: record.completed,
            approval_share: record.approval_share().unwrap_or_default(),
            median_review_hours: record.median_review_hours(windows),
        })
    }
}
