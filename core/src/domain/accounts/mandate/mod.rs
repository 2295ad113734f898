//! Mandates: what a key may do, on what, and for how much. A key without one may do everything.

pub mod spending;

use std::time::Duration;

use crate::domain::geo::Point;
use crate::domain::rules::{IntegerRule, ListRule, NumberRule};
use crate::domain::string_enum::string_enum;
use crate::domain::tasks::pricing::{MAX_BUDGET_CENTS, MIN_BUDGET_CENTS};
use crate::domain::{Category, FieldError, FieldErrors, NewTask, TaskType, Timestamp};
use spending::{Spending, SpendingLimits, Use};

string_enum!(
    /// What a key with a mandate can be allowed to do. The account itself, keys, the webhook and the
    /// payment method are for keys without a mandate.
    Permission {
        Read = "read",
        Create = "create",
        Review = "review",
        Cancel = "cancel",
        /// The helpers of the test environment.
        Test = "test",
    }
);

string_enum!(
    /// Whether a mandate lets its key do anything.
    MandateStatus {
        Active = "active",
        Paused = "paused",
        Expired = "expired",
    }
);

/// A set of permissions. It travels with every request, so it is small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(i64);

impl Permissions {
    pub fn has(self, permission: Permission) -> bool {
        self.0 & bit(permission) != 0
    }

    pub fn list(self) -> Vec<Permission> {
        let all = Permission::ALL.iter().copied();
        all.filter(|permission| self.has(*permission)).collect()
    }

    /// As it is stored.
    pub const fn bits(self) -> i64 {
        self.0
    }

    pub const fn from_bits(bits: i64) -> Self {
        Self(bits)
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        let bits = permissions.into_iter().map(bit);
        Self(bits.fold(0, |all, bit| all | bit))
    }
}

/// Stored: never renumber.
const fn bit(permission: Permission) -> i64 {
    match permission {
        Permission::Read => 1,
        Permission::Create => 2,
        Permission::Review => 4,
        Permission::Cancel => 8,
        Permission::Test => 16,
    }
}

/// What a route needs of the key that calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Permission(Permission),
    /// Either of the two: whoever creates a task must learn where a person agrees to it.
    ReadOrCreate,
    /// A key without a mandate.
    Unlimited,
    /// The same, for what both environments of the account share.
    WholeAccount,
    /// Every key, however limited.
    Nothing,
}

impl Needs {
    /// As the description of the interface says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permission(permission) => permission.as_str(),
            Self::ReadOrCreate => "read or create",
            Self::Unlimited | Self::WholeAccount => "unlimited",
            Self::Nothing => "none",
        }
    }
}

/// Where tasks may be: within a circle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub center: Point,
    pub radius_km: f64,
}

impl Area {
    fn contains(&self, place: Point) -> bool {
        self.center.distance_meters(place) <= self.radius_km * 1_000.0
    }
}

/// An empty list allows all.
#[derive(Clone, Debug, PartialEq)]
pub struct Mandate {
    pub permissions: Permissions,
    pub max_task_cents: Option<i64>,
    pub spending_limits: SpendingLimits,
    pub max_open_tasks: Option<i64>,
    pub max_tasks_per_day: Option<i64>,
    pub categories: Vec<Category>,
    pub task_types: Vec<TaskType>,
    pub area: Option<Area>,
    pub states: Vec<String>,
    /// A task with a larger budget waits for a person.
    pub approval_above_cents: Option<i64>,
    /// A person reviews the proofs of a task with a larger budget.
    pub review_up_to_cents: Option<i64>,
    /// Some time after it is granted, if that is not said.
    pub expires_at: Option<Timestamp>,
    pub paused: bool,
}

/// How long a mandate lasts that does not say so.
pub const USUAL_LIFE: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// A key may do something.
pub const PERMISSIONS: ListRule<Permission> = ListRule {
    min: 1,
    unique: false,
    check: |permissions| {
        if permissions.is_empty() {
            return Err("must name at least one permission".to_owned());
        }
        (ListRule::ANY.check)(permissions)
    },
};
pub const MAX_STATES: usize = 60;

/// No sum of budgets comes near the end of the integers.
pub const CENTS: IntegerRule = IntegerRule {
    min: 0,
    max: 1_000_000_000_000,
};
pub const TASK_CENTS: IntegerRule = IntegerRule {
    min: MIN_BUDGET_CENTS,
    max: MAX_BUDGET_CENTS,
};
pub const TASKS: IntegerRule = IntegerRule {
    min: 0,
    max: 1_000_000,
};
/// No two places are further apart than half the way around the Earth.
pub const RADIUS_KM: NumberRule = NumberRule {
    min: 0.1,
    max: 20_038.0,
};

/// A limit that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field of the mandate, such as `spending_limits.day`.
    pub limit: &'static str,
    pub message: String,
    /// Of limits that are counted: how much of it is used.
    pub counted: Option<Use>,
}

impl Refusal {
    pub fn new(limit: &'static str, message: impl Into<String>) -> Self {
        Self {
            limit,
            message: message.into(),
            counted: None,
        }
    }
}

/// What a mandate says to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    /// A person has to agree first: the limit that says so.
    ApprovalRequired(Refusal),
    /// Every limit that stands in the way.
    Denied(Vec<Refusal>),
}

impl Mandate {
    /// The mandate as it is granted now.
    pub fn granted(mut self, now: Timestamp) -> Result<Self, FieldErrors> {
        self.expires_at = self.expires_at.or(Some(now.plus(USUAL_LIFE)));
        let faults = self.faults(now);
        if faults.is_empty() {
            Ok(self)
        } else {
            Err(faults)
        }
    }

    /// Limits that contradict each other, and an end in the past.
    pub fn faults(&self, now: Timestamp) -> FieldErrors {
        let mut faults = Vec::new();
        let mut fault = |field: &str, message: &str| faults.push(FieldError::new(field, message));
        if self.expires_at.is_some_and(|at| at <= now) {
            fault("expires_at", "must be in the future");
        }
        let exceeds = |smaller: Option<i64>, larger: Option<i64>| {
            smaller
                .zip(larger)
                .is_some_and(|(small, large)| small > large)
        };
        let limits = &self.spending_limits;
        if exceeds(limits.day, limits.month) {
            fault(
                "spending_limits",
                "the limit of a day is above that of a month",
            );
        }
        if exceeds(limits.day, limits.total) || exceeds(limits.month, limits.total) {
            fault(
                "spending_limits",
                "the limit of an interval is above the total",
            );
        }
        for limit in [limits.day, limits.month, limits.total] {
            if exceeds(self.max_task_cents, limit) {
                fault("max_task_cents", "must not be above a spending limit");
                break;
            }
        }
        if exceeds(self.approval_above_cents, self.max_task_cents) {
            fault("approval_above_cents", "must not be above max_task_cents");
        }
        let reviews = self.permissions.has(Permission::Review);
        if self.review_up_to_cents.is_some() && !reviews {
            fault("review_up_to_cents", "needs the permission review");
        }
        if self.area.is_some() && !self.states.is_empty() {
            fault("states", "cannot be combined with an area");
        }
        faults.into()
    }

    /// Every limit that a new task would break, whatever was spent before.
    pub fn refusals(&self, task: &NewTask) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        if let Some(max) = self.max_task_cents.filter(|max| task.budget_cents > *max) {
            refusals.push(Refusal {
                limit: "max_task_cents",
                message: format!("this key may spend {max} cents on a task"),
                counted: Some(Use {
                    limit: max,
                    used: 0,
                }),
            });
        }
        if !self.categories.is_empty() && !self.categories.contains(&task.category) {
            let message = format!(
                "this key may not create tasks of category {}",
                task.category
            );
            refusals.push(Refusal::new("categories", message));
        }
        if !self.task_types.is_empty() && !self.task_types.contains(&task.task_type) {
            let message = format!("this key may not create tasks of type {}", task.task_type);
            refusals.push(Refusal::new("task_types", message));
        }
        let place = Point {
            latitude: task.location.latitude,
            longitude: task.location.longitude,
        };
        if let Some(area) = self.area.filter(|area| !area.contains(place)) {
            let message = format!("the place is not within {} km of the area", area.radius_km);
            refusals.push(Refusal::new("area", message));
        }
        if !self.states.is_empty() && !self.states.contains(&task.location.state) {
            let message = format!("this key may not create tasks in {}", task.location.state);
            refusals.push(Refusal::new("states", message));
        }
        refusals
    }

    /// What every request needs to know of it.
    pub fn key_limits(&self) -> KeyLimits {
        KeyLimits {
            permissions: self.permissions,
            paused: self.paused,
            expires_at: self.expires_at.unwrap_or(Timestamp::from_millis(0)),
            review_up_to_cents: self.review_up_to_cents,
        }
    }

    /// What this mandate says to a new task, after what was spent under it.
    pub fn verdict(&self, spent: Spending, task: &NewTask, now: Timestamp) -> Verdict {
        let mut refusals = self.refusals(task);
        refusals.extend(self.exceeded(spent, task.budget_cents, now));
        if !refusals.is_empty() {
            return Verdict::Denied(refusals);
        }
        let approval = self.needs_approval(task.budget_cents);
        approval.map_or(Verdict::Allowed, Verdict::ApprovalRequired)
    }

    /// Why a person has to agree to a task with this budget.
    pub fn needs_approval(&self, budget_cents: i64) -> Option<Refusal> {
        let above = self.approval_above_cents?;
        (budget_cents > above).then(|| {
            let message = format!("a person agrees to tasks above {above} cents");
            Refusal::new("approval_above_cents", message)
        })
    }
}

/// What every request needs to know of the mandate of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLimits {
    pub permissions: Permissions,
    pub paused: bool,
    pub expires_at: Timestamp,
    pub review_up_to_cents: Option<i64>,
}

/// Why a key may not call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    Paused,
    Expired,
    Missing(Permission),
    HasMandate,
}

impl KeyLimits {
    pub fn allow(&self, needs: Needs, now: Timestamp) -> Result<(), Denied> {
        if needs == Needs::Nothing {
            return Ok(());
        }
        match (self.status(now), needs) {
            (MandateStatus::Paused, _) => Err(Denied::Paused),
            (MandateStatus::Expired, _) => Err(Denied::Expired),
            (_, Needs::Unlimited | Needs::WholeAccount) => Err(Denied::HasMandate),
            (_, Needs::Permission(needed)) if !self.permissions.has(needed) => {
                Err(Denied::Missing(needed))
            }
            (_, Needs::ReadOrCreate)
                if !self.permissions.has(Permission::Read)
                    && !self.permissions.has(Permission::Create) =>
            {
                Err(Denied::Missing(Permission::Read))
            }
            (_, Needs::Permission(_) | Needs::ReadOrCreate | Needs::Nothing) => Ok(()),
        }
    }

    pub fn status(&self, now: Timestamp) -> MandateStatus {
        match (self.paused, self.expires_at <= now) {
            (true, _) => MandateStatus::Paused,
            (false, true) => MandateStatus::Expired,
            (false, false) => MandateStatus::Active,
        }
    }

    /// Approving is paying: what stands in the way of reviewing a task with this budget.
    pub fn refuses_review(&self, budget_cents: i64) -> Option<Refusal> {
        let limit = self.review_up_to_cents?;
        (budget_cents > limit).then(|| Refusal {
            limit: "review_up_to_cents",
            message: format!("a person reviews tasks above {limit} cents"),
            counted: Some(Use { limit, used: 0 }),
        })
    }
}

#[cfg(test)]
mod tests;
