//! Stripe's error object.

use reqwest::StatusCode;
use serde::Deserialize;

use crate::domain::PaymentFailure;

#[derive(Clone, Debug, Default, Deserialize)]
pub struct StripeError {
    #[serde(skip)]
    pub status: u16,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub code: Option<String>,
    pub decline_code: Option<String>,
    pub message: Option<String>,
    pub param: Option<String>,
}

impl StripeError {
    /// The payment method was declined.
    pub fn is_decline(&self) -> bool {
        self.status == StatusCode::PAYMENT_REQUIRED.as_u16()
            || self.kind.as_deref() == Some("card_error")
    }

    pub fn is_about(&self, parameter: &str) -> bool {
        self.param.as_deref() == Some(parameter)
    }

    pub fn is_about_state(&self) -> bool {
        self.code.as_deref() == Some("payment_intent_unexpected_state")
    }

    /// The idempotency key was used for another request.
    pub fn is_about_key(&self) -> bool {
        self.kind.as_deref() == Some("idempotency_error")
    }

    /// With the bank's decline code if there is one.
    pub fn failure(&self) -> PaymentFailure {
        let codes = [&self.decline_code, &self.code, &self.kind];
        let code = codes.into_iter().flatten().next();
        PaymentFailure {
            code: code.map_or("declined", String::as_str).to_owned(),
            message: self.message().to_owned(),
        }
    }

    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or("Stripe gave no reason.")
    }
}
