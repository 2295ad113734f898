//! A quote.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::domain::accounts::mandate::{Refusal, Verdict};
use crate::domain::quotes::QuoteVerdict;
use crate::domain::quotes::coverage::{AcceptedTasks, Coverage, WorkersNearby};
use crate::domain::{Quote, Timestamp};
use crate::store::MandateInUse;
use crate::views::mandate::UseBody;
use crate::views::{Id, examples};

/// What a task would cost.
#[derive(Serialize, ToSchema)]
#[schema(as = Quote, example = json!(QuoteBody::example()))]
pub struct QuoteBody {
    #[schema(value_type = Id)]
    id: String,
    budget_cents: i64,
    platform_fee_cents: i64,
    worker_payout_cents: i64,
    mandate: MandateOfQuote,
    coverage: CoverageBody,
    /// Until when the quote can be redeemed.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// What the mandate of the key says to the task at this moment. Redeeming asks it again.
#[derive(Serialize, ToSchema)]
pub struct MandateOfQuote {
    verdict: QuoteVerdict,
    /// What stands in the way: the field of the mandate, and why.
    reasons: Vec<String>,
    /// Each limit that is counted, with what is left. Null for a key without a mandate.
    #[schema(required)]
    left: Option<Vec<UseBody>>,
}

impl MandateOfQuote {
    const UNLIMITED: Self = Self {
        verdict: QuoteVerdict::Allowed,
        reasons: Vec::new(),
        left: None,
    };

    fn of(mandate: &MandateInUse, verdict: &Verdict, now: Timestamp) -> Self {
        let (word, refusals) = match verdict {
            Verdict::Allowed => (QuoteVerdict::Allowed, &[][..]),
            Verdict::ApprovalRequired(limit) => {
                (QuoteVerdict::ApprovalRequired, std::slice::from_ref(limit))
            }
            Verdict::Denied(refusals) => (QuoteVerdict::Denied, refusals.as_slice()),
        };
        let reason = |refusal: &Refusal| format!("{}: {}", refusal.limit, refusal.message);
        Self {
            verdict: word,
            reasons: refusals.iter().map(reason).collect(),
            left: Some(UseBody::all(mandate, now)),
        }
    }
}

/// Whether somebody will do the task, from what is known of its surroundings.
#[derive(Serialize, ToSchema)]
#[schema(as = Coverage)]
pub struct CoverageBody {
    /// How many workers can accept it, as far as is known.
    workers: WorkersNearby,
    /// How soon tasks of this category were accepted there. Null if there were too few.
    #[schema(required)]
    hours_to_accept: Option<HoursToAccept>,
    /// The usual budget of such tasks. Null if there were too few.
    #[schema(required)]
    suggested_budget_cents: Option<i64>,
}

/// Half of the tasks were accepted within `p50` hours, nine of ten within `p90`.
#[derive(Serialize, ToSchema)]
pub struct HoursToAccept {
    p50: i64,
    p90: i64,
}

impl From<&Coverage> for CoverageBody {
    fn from(coverage: &Coverage) -> Self {
        let accepted = coverage.accepted;
        Self {
            workers: coverage.workers,
            hours_to_accept: accepted.map(|accepted| HoursToAccept {
                p50: accepted.half_within_hours,
                p90: accepted.most_within_hours,
            }),
            suggested_budget_cents: accepted.and_then(|accepted| accepted.usual_budget_cents),
        }
    }
}

impl QuoteBody {
    /// With what the mandate of the key says, if it has one, at that time.
    pub fn of(
        quote: &Quote,
        coverage: &Coverage,
        mandate: Option<(&MandateInUse, &Verdict)>,
        now: Timestamp,
    ) -> Self {
        let limited = |(mandate, verdict)| MandateOfQuote::of(mandate, verdict, now);
        let split = quote.split();
        Self {
            id: quote.id.to_string(),
            budget_cents: quote.new.budget_cents,
            platform_fee_cents: split.fee_cents,
            worker_payout_cents: split.payout_cents,
            mandate: mandate.map_or(MandateOfQuote::UNLIMITED, limited),
            coverage: coverage.into(),
            expires_at: quote.expires_at,
        }
    }

    pub fn json(quote: &Quote) -> Result<String, crate::store::StoreError> {
        Ok(quote.body.clone())
    }

    pub fn example() -> Value {
        let coverage = Coverage {
            workers: WorkersNearby::Some,
            accepted: Some(AcceptedTasks {
                half_within_hours: 2,
                most_within_hours: 24,
                usual_budget_cents: Some(2_500),
            }),
        };
        let (quote, mandate) = (examples::quote(), examples::mandate());
        let limited = Some((&mandate, &Verdict::Allowed));
        json!(Self::of(&quote, &coverage, limited, examples::CREATED))
    }
}
