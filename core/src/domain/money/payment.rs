//! How live tasks are paid for, and how workers are paid.

use crate::domain::rules::TextRule;
use crate::domain::string_enum::string_enum;
use crate::domain::{AccountId, Status, Task, TaskId, Timestamp, WorkerId};

string_enum!(
    /// The payment processor.
    ProcessorName {
        /// Built in, for development: no money moves.
        Sandbox = "sandbox",
        Stripe = "stripe",
    }
);

string_enum!(PaymentStatus {
    /// The default payment method is being charged.
    Processing = "processing",
    /// Waits for someone to pay with the client secret.
    RequiresPayment = "requires_payment",
    Succeeded = "succeeded",
    Cancelled = "cancelled",
});

/// Why a payment failed, as the processor reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentFailure {
    pub code: String,
    pub message: String,
}

/// The payment of a live task. A task has exactly one.
#[derive(Clone, Debug)]
pub struct Payment {
    pub task: TaskId,
    pub account: AccountId,
    pub processor: ProcessorName,
    /// `None` until the processor has created the payment.
    pub intent: Option<StoredIntent>,
    pub amount_cents: i64,
    pub status: PaymentStatus,
    /// The default payment method, which a job charges. `None` if the account had none.
    pub method: Option<ChargedMethod>,
    pub failure: Option<PaymentFailure>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Payment {
    /// The intent to pay with, if the task still waits for a payment through this processor.
    pub fn payable(
        self,
        task: &Task,
        processor: ProcessorName,
        now: Timestamp,
    ) -> Option<StoredIntent> {
        let payable = self.status == PaymentStatus::RequiresPayment
            && task.status == Status::Pending
            && !task.is_overdue(now)
            && self.processor == processor;
        self.intent.filter(|_| payable)
    }
}

/// The processor's record of a payment as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIntent {
    pub id: String,
    /// The client secret, usually sealed. It is opened only to be shown, so that one that cannot be
    /// opened stops no money.
    pub stored_secret: String,
}

/// The processor's record of a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentIntent {
    pub id: String,
    pub client_secret: String,
}

/// The processor's record of a payment method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargedMethod {
    pub id: String,
    /// The processor's customer id for the account, if it has one.
    pub customer: Option<String>,
}

/// The default payment method of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentMethod {
    pub processor: ProcessorName,
    pub method: ChargedMethod,
    pub updated_at: Timestamp,
}

/// The id of a payment method is the processor's; ours is only to keep it in bounds.
pub const PAYMENT_METHOD: TextRule = TextRule {
    min: 1,
    max: 255,
    pattern: Some("^[A-Za-z0-9_-]+$"),
    format: None,
    check: |rule, text| {
        let text = rule.text(text)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if text.chars().all(plain) {
            Ok(text)
        } else {
            Err("must be the id of a payment method, such as pm_card_visa".to_owned())
        }
    },
};

string_enum!(
    /// Whether a worker can be paid.
    PayoutStatus {
        None = "none",
        Pending = "pending",
        Ready = "ready",
    }
);

string_enum!(
    /// Why a transfer to a worker is held back.
    HeldBecause {
        /// The hold period of this service has not passed.
        HoldPeriod = "hold_period",
        /// The payer disputes the charge that the money came from.
        ChargeDisputed = "charge_disputed",
        WorkerSuspended = "worker_suspended",
    }
);

impl HeldBecause {
    /// What the job of such a transfer waits for. The subject is the task or the worker.
    pub fn waits_for(self, subject: impl std::fmt::Display) -> String {
        format!("{self}:{subject}")
    }

    /// Reads what `waits_for` has written.
    pub fn read(waits_for: &str) -> Option<Self> {
        let (reason, _) = waits_for.split_once(':')?;
        Self::parse(reason)
    }
}

/// The account that a worker is paid into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutAccount {
    pub worker: WorkerId,
    pub processor: ProcessorName,
    /// The processor's id of the account.
    pub id: String,
    pub status: PayoutStatus,
}
