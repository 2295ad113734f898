//! A worker, as the worker and admins see it.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::tasks::Skill;
use crate::domain::{PayoutStatus, Timestamp, Worker, WorkerStatus};
use crate::views::{Id, examples};

/// A worker, as the worker and admins see it.
#[derive(Serialize, ToSchema)]
#[schema(as = Worker, example = json!(WorkerBody::example()))]
pub struct WorkerBody {
    #[schema(value_type = Id)]
    id: String,
    email: String,
    name: String,
    /// The name that waits for an admin's decision.
    #[schema(required)]
    pending_name: Option<String>,
    #[schema(required)]
    phone: Option<String>,
    skills: Vec<Skill>,
    /// Those that an admin has confirmed. Some skills, such as `notary`, count only then.
    confirmed_skills: Vec<Skill>,
    #[schema(required)]
    home_latitude: Option<f64>,
    #[schema(required)]
    home_longitude: Option<f64>,
    radius_km: f64,
    status: WorkerStatus,
    payout_account: PayoutAccountBody,
    /// Paid work: approved by the developer, by an admin or because nobody reviewed it in time.
    completed_tasks: i64,
    /// The share of final outcomes in which the work was paid, 0 to 1; null before the first.
    #[schema(required)]
    approval_rate: Option<f64>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[schema(as = PayoutAccount)]
pub struct PayoutAccountBody {
    status: PayoutStatus,
}

impl WorkerBody {
    pub fn of(worker: Worker, payout: PayoutStatus) -> Self {
        Self {
            id: worker.id.to_string(),
            approval_rate: worker.approval_rate(),
            email: worker.email,
            name: worker.name,
            pending_name: worker.pending_name,
            phone: worker.phone,
            skills: worker.skills,
            confirmed_skills: worker.confirmed_skills,
            home_latitude: worker.home.map(|home| home.latitude),
            home_longitude: worker.home.map(|home| home.longitude),
            radius_km: worker.radius_km,
            status: worker.status,
            payout_account: PayoutAccountBody { status: payout },
            completed_tasks: worker.completed_tasks,
            created_at: worker.created_at,
            updated_at: worker.updated_at,
        }
    }

    fn example() -> Self {
        Self::of(examples::worker(), PayoutStatus::Ready)
    }
}
