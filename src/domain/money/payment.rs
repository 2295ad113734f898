//! How a live task is paid for, and how a worker is paid.

use crate::domain::string_enum::string_enum;
use crate::domain::{AccountId, Status, TaskId, Timestamp, WorkerId, rules};

string_enum!(
    /// Who moves the money.
    ProcessorName {
        /// Embedded, for trying things out: no money moves.
        Sandbox = "sandbox",
        Stripe = "stripe",
    }
);

string_enum!(PaymentStatus {
    /// The default payment method is being charged.
    Processing = "processing",
    /// Somebody has to pay, with the client secret.
    RequiresPayment = "requires_payment",
    Succeeded = "succeeded",
    Cancelled = "cancelled",
});

/// Why a payment did not succeed, in the processor's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentFailure {
    pub code: String,
    pub message: String,
}

/// The one payment of a live task.
#[derive(Clone, Debug)]
pub struct Payment {
    pub task: TaskId,
    pub account: AccountId,
    pub processor: ProcessorName,
    /// The processor's own name for it, and the secret with which it can be paid; none before the
    /// processor has been asked.
    pub intent: Option<PaymentIntent>,
    pub amount_cents: i64,
    pub status: PaymentStatus,
    /// What is charged off the request, when the account had a default method.
    pub method: Option<ChargedMethod>,
    pub failure: Option<PaymentFailure>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Payment {
    /// What it takes to pay it, while somebody still has to, through this processor.
    pub fn payable(self, status: Status, processor: ProcessorName) -> Option<PaymentIntent> {
        let payable = self.status == PaymentStatus::RequiresPayment
            && status == Status::Pending
            && self.processor == processor;
        self.intent.filter(|_| payable)
    }
}

/// A payment as the processor knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentIntent {
    pub id: String,
    pub client_secret: String,
}

/// A payment method as the processor knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargedMethod {
    pub id: String,
    /// The processor's record of the account, where it keeps one.
    pub customer: Option<String>,
}

/// The default payment method of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentMethod {
    pub processor: ProcessorName,
    pub method: ChargedMethod,
    pub updated_at: Timestamp,
}

/// The name of a payment method is the processor's; ours is only to keep it in bounds.
pub fn payment_method(text: &str) -> Result<String, String> {
    let text = rules::text(text, 1, 255)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.chars().all(plain) {
        Ok(text)
    } else {
        Err("must be the id of a payment method, such as pm_card_visa".to_owned())
    }
}

string_enum!(
    /// Whether a worker can be paid.
    PayoutStatus {
        None = "none",
        Pending = "pending",
        Ready = "ready",
    }
);

/// Where a worker is paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutAccount {
    pub worker: WorkerId,
    pub processor: ProcessorName,
    /// The processor's own name for it.
    pub id: String,
    pub status: PayoutStatus,
}
