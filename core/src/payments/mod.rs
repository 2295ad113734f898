//! The payment processor: one trait and two implementations.
//!
//! If a call gets no response, the caller cannot know whether it took effect. So every request
//! carries an idempotency key made from the task and the step, and can be sent again: it takes
//! effect once. A response, also one that says no, is repeated for as long as the processor remembers
//! the key. So after a response the next attempt has another key.

mod outgoing;
pub mod sandbox;
pub mod stripe;

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::{
    AccountId, ChargeDisputeStatus, ChargedMethod, OutgoingKind, PaymentFailure, PaymentIntent,
    ProcessorName, Step, TaskId, Timestamp, WorkerId,
};

pub use outgoing::{Look, Made, Outgoing};
pub use sandbox::Sandbox;
pub use stripe::{Stripe, StripeSettings};

/// Why a call to the processor failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorError {
    /// It cannot be reached, is overloaded, or its response was lost. The call may have taken
    /// effect.
    #[error("the payment processor is unavailable: {0}")]
    Unavailable(String),
    /// Refused permanently.
    #[error("the payment processor refused: {message} ({code})")]
    Refused { code: String, message: String },
}

/// Why a request with an idempotency key came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct RequestError {
    pub error: ProcessorError,
    /// Whether the processor has answered, and would repeat the answer to this key. Without an answer nobody
    /// knows what became of the request, and it must be repeated with the same key.
    pub key_spent: bool,
}

impl From<ProcessorError> for RequestError {
    fn from(error: ProcessorError) -> Self {
        Self {
            error,
            key_spent: false,
        }
    }
}

impl From<RequestError> for ProcessorError {
    fn from(error: RequestError) -> Self {
        error.error
    }
}

/// What the idempotency key of a request is made from.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    pub task: TaskId,
    /// How many earlier requests of this step the processor has carried out without that the money moved for
    /// good.
    pub earlier: usize,
    /// How many keys were answered since, each with a failure.
    pub keys_spent: i64,
}

impl Attempt {
    pub const fn first(task: TaskId) -> Self {
        Self {
            task,
            earlier: 0,
            keys_spent: 0,
        }
    }

    /// No two attempts have the same key.
    fn key(self, step: &str) -> String {
        let mut key = format!("{}-{step}", self.task);
        if self.earlier > 0 {
            key.push_str(&format!("-{}", self.earlier + 1));
        }
        if self.keys_spent > 0 {
            key.push_str(&format!("-after-{}", self.keys_spent));
        }
        key
    }
}

/// A payment to create for a task.
#[derive(Clone, Debug)]
pub struct NewPayment {
    pub attempt: Attempt,
    pub account: AccountId,
    pub amount_cents: i64,
    /// The customer who will be charged off-session, if any.
    pub customer: Option<String>,
    /// Since when it may exist at the processor.
    pub wanted_since: Timestamp,
}

/// The result of charging a payment method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charge {
    Succeeded,
    Declined(PaymentFailure),
    /// Not known yet. An event will follow.
    Processing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    Cancelled,
    /// Too late: it has been paid.
    AlreadyPaid,
}

/// An event that a processor reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessorEvent {
    pub id: String,
    pub kind: ProcessorEventKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessorEventKind {
    PaymentSucceeded {
        payment: String,
    },
    PaymentFailed {
        payment: String,
        failure: PaymentFailure,
    },
    PaymentCancelled {
        payment: String,
    },
    /// A payout account became ready, or is no longer ready.
    PayoutAccountChanged {
        payout_account: String,
        ready: bool,
        /// When the processor saw it so.
        at: Timestamp,
    },
    /// The payer disputes the charge of a payment, or the dispute has changed.
    ChargeDisputed {
        payment: String,
        dispute: String,
        cents: i64,
        status: ChargeDisputeStatus,
        /// The processor's code.
        reason: String,
    },
    /// A refund failed after it was made, or a transfer was reversed.
    Returned(Returned),
    /// The bank of a worker did not take what the processor paid out.
    PayoutFailed {
        payout_account: String,
        cents: i64,
        reason: String,
    },
    /// Not relevant for us.
    Other,
}

/// Money that came back to the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    pub kind: OutgoingKind,
    /// The processor's id of the refund or the transfer.
    pub id: String,
    /// The task that we gave as its reason.
    pub task: TaskId,
    /// How much has come back so far, in all.
    pub cents: i64,
    pub reason: String,
}

/// Why an event was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorEventError {
    #[error("this processor sends no events")]
    NoneExpected,
    #[error("the signature is missing or wrong")]
    BadSignature,
    #[error("the signature is too old")]
    TooOld,
    #[error("the event cannot be read")]
    Malformed,
}

/// A movement of money in the processor's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movement {
    pub task: TaskId,
    /// A payment, a refund or a transfer.
    pub step: Step,
    pub cents: i64,
    pub at: Timestamp,
    /// The event about this has not been received yet, as far as the processor knows.
    pub event_pending: bool,
}

#[async_trait]
pub trait Processor: Send + Sync {
    fn name(&self) -> ProcessorName;

    /// How many jobs may ask it at the same time. Real processors refuse to be asked too often.
    fn jobs_at_once(&self) -> usize {
        16
    }

    /// Whether it never does the same thing for a task twice, however late it is asked again. Others forget
    /// idempotency keys after about a day: they are asked what they have done before money is moved.
    fn never_repeats(&self) -> bool {
        false
    }

    /// Creates a payment that can be paid with its secret. The same task gets the same payment.
    async fn create_payment(&self, new: &NewPayment) -> Result<PaymentIntent, RequestError>;

    /// Pays a payment off-session with a stored payment method.
    async fn charge(
        &self,
        attempt: Attempt,
        payment: &str,
        method: &ChargedMethod,
    ) -> Result<Charge, RequestError>;

    /// Creates the payment of a task and charges it in one request. None if the processor does not do
    /// that: then the payment is created, recorded and charged, in this order.
    ///
    /// Only for a processor that never creates a second payment for a task, however late, and that finds
    /// the first by its task. A caller that dies before it has recorded the payment does not know its id.
    async fn create_and_charge(
        &self,
        _: &NewPayment,
        _: &ChargedMethod,
    ) -> Result<Option<(PaymentIntent, Charge)>, ProcessorError> {
        Ok(None)
    }

    /// The payment that was created for a task to be charged, if it was. One that can never be paid may be left
    /// out. Only asks: nothing is created.
    async fn find_payment(
        &self,
        wanted: &NewPayment,
    ) -> Result<Option<PaymentIntent>, ProcessorError>;

    async fn cancel_payment(
        &self,
        attempt: Attempt,
        payment: &str,
    ) -> Result<Cancellation, RequestError>;

    /// Returns the processor's id of the refund.
    async fn refund(&self, refund: &Outgoing) -> Result<String, RequestError>;

    /// Returns the processor's id of the transfer.
    async fn transfer(
        &self,
        transfer: &Outgoing,
        payout_account: &str,
    ) -> Result<String, RequestError>;

    /// Whether a refund or a transfer was made, by the processor's own records. Only asks: nothing is moved.
    async fn look(&self, kind: OutgoingKind, outgoing: &Outgoing) -> Result<Look, ProcessorError>;

    /// The disputes of a payment, each as an event would tell it.
    async fn find_disputes(&self, payment: &str)
    -> Result<Vec<ProcessorEventKind>, ProcessorError>;

    /// Saves a payment method for off-session charges.
    async fn attach_method(
        &self,
        account: AccountId,
        method: &str,
        customer: Option<&str>,
    ) -> Result<ChargedMethod, ProcessorError>;

    /// Opens an account that a worker can be paid into. The same worker gets the same account.
    async fn open_payout_account(&self, worker: WorkerId) -> Result<String, ProcessorError>;

    /// The URL where a worker completes a payout account.
    async fn onboarding_url(&self, payout_account: &str) -> Result<String, ProcessorError>;

    /// Reads an event that arrived over HTTP.
    fn read_event(
        &self,
        signature: Option<&str>,
        body: &[u8],
        now: Timestamp,
    ) -> Result<ProcessorEvent, ProcessorEventError>;

    /// The URL where a person pays with the client secret, if the processor has a page for it.
    fn payment_url(&self, client_secret: &str) -> Option<String>;

    /// All movements of money for our tasks.
    async fn movements(&self) -> Result<Vec<Movement>, ProcessorError>;
}

/// The processor of this server.
#[derive(Clone)]
pub struct Payments {
    pub processor: Arc<dyn Processor>,
    /// The same processor, if it is the sandbox, which also serves pages.
    pub sandbox: Option<Sandbox>,
}

impl Payments {
    pub fn sandbox(sandbox: Sandbox) -> Self {
        Self {
            processor: Arc::new(sandbox.clone()),
            sandbox: Some(sandbox),
        }
    }

    pub fn with(processor: impl Processor + 'static) -> Self {
        Self {
            processor: Arc::new(processor),
            sandbox: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attempt_has_its_own_key() {
        let task = TaskId::new(Timestamp::from_millis(1), &[1; 10]);
        for (earlier, keys_spent, key) in [
            (0, 0, format!("{task}-refund")),
            (1, 0, format!("{task}-refund-2")),
            (0, 1, format!("{task}-refund-after-1")),
            (1, 1, format!("{task}-refund-2-after-1")),
            (0, 2, format!("{task}-refund-after-2")),
        ] {
            let attempt = Attempt {
                task,
                earlier,
                keys_spent,
            };
            assert_eq!(attempt.key("refund"), key);
        }
    }
}
