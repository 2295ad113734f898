//! A quote.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::domain::quotes::QuoteVerdict;
use crate::domain::{Quote, Timestamp};
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
    /// Until when the quote can be redeemed.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// What the mandate of the key says to the task at this moment. Redeeming asks it again.
#[derive(Serialize, ToSchema)]
pub struct MandateOfQuote {
    verdict: QuoteVerdict,
    /// What stands in the way.
    reasons: Vec<String>,
}

impl QuoteBody {
    pub fn of(quote: &Quote) -> Self {
        let split = quote.split();
        Self {
            id: quote.id.to_string(),
            budget_cents: quote.new.budget_cents,
            platform_fee_cents: split.fee_cents,
            worker_payout_cents: split.payout_cents,
            mandate: MandateOfQuote {
                verdict: QuoteVerdict::Allowed,
                reasons: Vec::new(),
            },
            expires_at: quote.expires_at,
        }
    }

    pub fn json(quote: &Quote) -> Result<String, crate::store::StoreError> {
        Ok(quote.body.clone())
    }

    pub fn example() -> Value {
        json!(Self::of(&examples::quote()))
    }
}
