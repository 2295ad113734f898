//! Quotes: what a task would cost, for a while. A quote is redeemed once.

pub mod coverage;

use std::time::Duration;

use crate::domain::rules::TextRule;
use crate::domain::string_enum::string_enum;
use crate::domain::tasks::pricing::{Split, fee_percent, split};
use crate::domain::{ApiKeyId, NewTask, Owner, QuoteId, TaskId, Tier, Timestamp};

/// How long a quote can be redeemed.
pub const GOOD_FOR: Duration = Duration::from_secs(15 * 60);
/// How long a quote that has expired still says so.
pub const EXPIRED_KEPT: Duration = Duration::from_secs(60 * 60);
/// Quotes that a key with a mandate can have at a time that are neither redeemed nor expired, and all keys of an owner
/// without one together. Statements of the store say the same number.
pub const MAX_OPEN_QUOTES: i64 = 200;

string_enum!(
    /// What the mandate of a key says to a task.
    QuoteVerdict {
        Allowed = "allowed",
        ApprovalRequired = "approval_required",
        Denied = "denied",
    }
);

/// A quote, as it is stored.
#[derive(Clone, Debug)]
pub struct Quote {
    pub id: QuoteId,
    pub owner: Owner,
    /// The key with a mandate that has asked for it. Nobody else can redeem it.
    pub bound_to: Option<ApiKeyId>,
    pub fee_percent: i64,
    pub new: NewTask,
    /// By the clock of the environment.
    pub expires_at: Timestamp,
    /// The quote as it was answered, as JSON.
    pub body: String,
    pub redeemed: Option<Redeemed>,
}

/// The task that was created for a quote, and what was answered.
#[derive(Clone, Debug)]
pub struct Redeemed {
    pub task: TaskId,
    /// The task as it was then, as JSON, without the secret to pay with.
    pub answer: String,
    pub gave_secret: bool,
}

impl Quote {
    pub fn new(id: QuoteId, owner: Owner, tier: Tier, new: &NewTask, now: Timestamp) -> Self {
        Self {
            id,
            owner,
            bound_to: None,
            fee_percent: fee_percent(tier, new.task_type),
            new: new.clone(),
            expires_at: now.plus(GOOD_FOR),
            body: String::new(),
            redeemed: None,
        }
    }

    pub fn split(&self) -> Split {
        split(self.new.budget_cents, self.fee_percent)
    }

    /// The task to create: at the fee that was quoted.
    pub fn task(&self) -> NewTask {
        NewTask {
            quoted_fee_percent: Some(self.fee_percent),
            ..self.new.clone()
        }
    }

    pub fn is_for(&self, key: ApiKeyId) -> bool {
        self.bound_to.is_none_or(|bound_to| bound_to == key)
    }

    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }
}

pub const QUOTE_ID: TextRule<QuoteId> = TextRule {
    min: 32,
    max: 32,
    pattern: Some("^[0-9a-f]{32}$"),
    format: None,
    check: |_, text| QuoteId::parse(text).ok_or_else(|| "must be the ID of a quote".to_owned()),
};
