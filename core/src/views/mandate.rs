//! The mandate of a key, with what is used of it.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::accounts::mandate::spending::{Interval, Use};
use crate::domain::accounts::mandate::{Area, Mandate, MandateStatus, Permission};
use crate::domain::{ApiKeyId, Category, TaskType, Timestamp};
use crate::store::MandateInUse;
use crate::views::{Id, examples};

/// What a key may do and spend. A limit that is null is not set; an empty list allows all.
#[derive(Serialize, ToSchema)]
#[schema(as = Mandate, example = json!(MandateBody::example()))]
pub struct MandateBody {
    #[schema(value_type = Id)]
    key_id: String,
    /// A mandate that is not active lets its key do nothing.
    status: MandateStatus,
    permissions: Vec<Permission>,
    #[schema(required)]
    max_task_cents: Option<i64>,
    spending_limits: Vec<SpendingLimitBody>,
    #[schema(required)]
    max_open_tasks: Option<i64>,
    #[schema(required)]
    max_tasks_per_day: Option<i64>,
    categories: Vec<Category>,
    task_types: Vec<TaskType>,
    #[schema(required)]
    area: Option<AreaBody>,
    states: Vec<String>,
    /// A task with a larger budget waits for a person's yes.
    #[schema(required)]
    approval_above_cents: Option<i64>,
    /// A person reviews the proof of a task with a larger budget.
    #[schema(required)]
    review_up_to_cents: Option<i64>,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Option<Timestamp>,
    paused: bool,
    /// Each limit that is counted, with what is used and left.
    usage: Vec<UseBody>,
    #[schema(required)]
    last_refused: Option<RefusedBody>,
    /// Counts the changes of the mandate.
    version: i64,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SpendingLimit)]
struct SpendingLimitBody {
    interval: Interval,
    cents: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Area)]
struct AreaBody {
    latitude: f64,
    longitude: f64,
    radius_km: f64,
}

impl From<Area> for AreaBody {
    fn from(area: Area) -> Self {
        Self {
            latitude: area.center.latitude,
            longitude: area.center.longitude,
            radius_km: area.radius_km,
        }
    }
}

/// How much of a limit is used.
#[derive(Serialize, ToSchema)]
#[schema(as = MandateUse)]
pub struct UseBody {
    /// The field that sets the limit.
    #[schema(example = "spending_limits.day")]
    field: &'static str,
    limit: i64,
    used: i64,
    left: i64,
    /// When it begins anew; null if it never does.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    resets_at: Option<Timestamp>,
}

impl UseBody {
    fn of((field, counted): (&'static str, Use), now: Timestamp) -> Self {
        Self {
            field,
            limit: counted.limit,
            used: counted.used,
            left: counted.left(),
            resets_at: Mandate::resets_at(field, now),
        }
    }

    /// What is left of a mandate.
    pub fn all(mandate: &MandateInUse, now: Timestamp) -> Vec<Self> {
        let uses = mandate.mandate.uses(mandate.spent, now).into_iter();
        uses.map(|counted| Self::of(counted, now)).collect()
    }
}

/// What the mandate last refused.
#[derive(Serialize, ToSchema)]
#[schema(as = MandateRefusal)]
struct RefusedBody {
    /// The field that stood in the way.
    #[schema(example = "max_task_cents")]
    field: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
}

impl MandateBody {
    pub fn of(key: ApiKeyId, mandate: &MandateInUse, now: Timestamp) -> Self {
        let usage = UseBody::all(mandate, now);
        let limited = &mandate.mandate;
        let set = Interval::ALL.iter().filter_map(|interval| {
            let cents = limited.spending_limits.of(*interval)?;
            let interval = *interval;
            Some(SpendingLimitBody { interval, cents })
        });
        let refused = mandate.refused.clone();
        Self {
            key_id: key.to_string(),
            status: limited.key_limits().status(now),
            permissions: limited.permissions.list(),
            max_task_cents: limited.max_task_cents,
            spending_limits: set.collect(),
            max_open_tasks: limited.max_open_tasks,
            max_tasks_per_day: limited.max_tasks_per_day,
            categories: limited.categories.clone(),
            task_types: limited.task_types.clone(),
            area: limited.area.map(AreaBody::from),
            states: limited.states.clone(),
            approval_above_cents: limited.approval_above_cents,
            review_up_to_cents: limited.review_up_to_cents,
            expires_at: limited.expires_at,
            paused: limited.paused,
            usage,
            last_refused: refused.map(|(at, field)| RefusedBody { field, at }),
            version: mandate.version,
            updated_at: mandate.updated_at,
        }
    }

    fn example() -> Self {
        let (key, mandate) = (examples::key_id(), examples::mandate());
        Self::of(key, &mandate, examples::REVIEWED)
    }
}
