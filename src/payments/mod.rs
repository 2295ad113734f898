//! The payment processor: one trait and two implementations.
//!
//! If a call gets no response, the caller cannot know whether it took effect. So every request
//! carries an idempotency key made from the task and the step, and can be sent again: it takes
//! effect once.

pub mod sandbox;
pub mod stripe;

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::{
    AccountId, ChargedMethod, PaymentFailure, PaymentIntent, ProcessorName, Step, TaskId,
    Timestamp, WorkerId,
};

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

/// A payment to create for a task.
#[derive(Clone, Debug)]
pub struct NewPayment {
    pub task: TaskId,
    pub account: AccountId,
    pub amount_cents: i64,
    /// The customer who will be charged off-session, if any.
    pub customer: Option<String>,
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

/// Money out of a payment: a refund to the developer or a transfer to a worker.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub task: TaskId,
    /// The processor's id of the payment that the money came from.
    pub payment: String,
    pub cents: i64,
    /// Whether this is a retry. Processors forget idempotency keys after about a day, so a retry
    /// first checks whether the first request took effect.
    pub is_retry: bool,
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
    },
    /// Not relevant for us.
    Other,
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

    /// Creates a payment that can be paid with its secret. The same task gets the same payment.
    async fn create_payment(&self, new: &NewPayment) -> Result<PaymentIntent, ProcessorError>;

    /// Pays a payment off-session with a stored payment method.
    async fn charge(
        &self,
        task: TaskId,
        payment: &str,
        method: &ChargedMethod,
    ) -> Result<Charge, ProcessorError>;

    async fn cancel_payment(
        &self,
        task: TaskId,
        payment: &str,
    ) -> Result<Cancellation, ProcessorError>;

    async fn refund(&self, refund: &Outgoing) -> Result<(), ProcessorError>;

    async fn transfer(
        &self,
        transfer: &Outgoing,
        payout_account: &str,
    ) -> Result<(), ProcessorError>;

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

/// The idempotency key of a step of a task.
fn key(task: TaskId, step: &str) -> String {
    format!("{task}-{step}")
}
