//! The payment processor: what we ask of it, and the two that answer.
//!
//! Whoever calls outside cannot know, when no answer comes, whether it happened. So every request
//! carries a key made from the task and the step, and may be sent again: it happens once.

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

/// Why the processor did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorError {
    /// It cannot be reached, is overloaded, or its answer was lost. It may have happened.
    #[error("the payment processor is unavailable: {0}")]
    Unavailable(String),
    /// It said no, and will say so again.
    #[error("the payment processor refused: {message} ({code})")]
    Refused { code: String, message: String },
}

/// A payment to be made for a task.
#[derive(Clone, Debug)]
pub struct NewPayment {
    pub task: TaskId,
    pub account: AccountId,
    pub amount_cents: i64,
    /// Who will be charged without being present, if somebody will.
    pub customer: Option<String>,
}

/// What became of charging a payment method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charge {
    Succeeded,
    Declined(PaymentFailure),
    /// Not known yet: a notice will tell.
    Processing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    Cancelled,
    /// Too late: the money is there.
    AlreadyPaid,
}

/// Money out of a payment: back to the developer, or on to a worker.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub task: TaskId,
    /// The processor's name for the payment that the money came from.
    pub payment: String,
    pub cents: i64,
    /// Whether this has been asked before. Processors forget keys after a day or so: asked again,
    /// they must first be asked whether it has happened.
    pub again: bool,
}

/// What a processor tells of its own accord.
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
    /// A payout account can be paid to, or cannot any more.
    PayoutAccountChanged {
        payout_account: String,
        ready: bool,
    },
    /// Nothing that concerns us.
    Other,
}

/// Why a notice was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorEventError {
    #[error("this processor sends no notices")]
    NoneExpected,
    #[error("the signature is missing or wrong")]
    BadSignature,
    #[error("the notice was not signed just now")]
    TooOld,
    #[error("the notice is not what it should be")]
    Malformed,
}

/// Money that moved, as the processor remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movement {
    pub task: TaskId,
    /// A payment, a refund or a transfer.
    pub step: Step,
    pub cents: i64,
    pub at: Timestamp,
    /// The processor knows that its notice of this has not been taken yet.
    pub untold: bool,
}

#[async_trait]
pub trait Processor: Send + Sync {
    fn name(&self) -> ProcessorName;

    /// Makes a payment that somebody can pay with its secret. The same task gets the same one.
    async fn create_payment(&self, new: &NewPayment) -> Result<PaymentIntent, ProcessorError>;

    /// Pays a payment with a stored method, nobody being present.
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

    /// Makes a payment method chargeable while its holder is away.
    async fn keep_method(
        &self,
        account: AccountId,
        method: &str,
        customer: Option<&str>,
    ) -> Result<ChargedMethod, ProcessorError>;

    /// Opens an account that a worker can be paid to. The same worker gets the same one.
    async fn open_payout_account(&self, worker: WorkerId) -> Result<String, ProcessorError>;

    /// Where a worker completes a payout account.
    async fn onboarding_url(&self, payout_account: &str) -> Result<String, ProcessorError>;

    /// Reads a notice that came over HTTP.
    fn read_event(
        &self,
        signature: Option<&str>,
        body: &[u8],
        now: Timestamp,
    ) -> Result<ProcessorEvent, ProcessorEventError>;

    /// Where a person pays with the client secret, if the processor has a page for it.
    fn payment_url(&self, client_secret: &str) -> Option<String>;

    /// Everything that moved for our tasks.
    async fn movements(&self) -> Result<Vec<Movement>, ProcessorError>;
}

/// The processor of this server.
#[derive(Clone)]
pub struct Payments {
    pub processor: Arc<dyn Processor>,
    /// The same once more, when it is the embedded one, which has pages to serve.
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

/// The key under which a step of a task is asked for.
fn key(task: TaskId, step: &str) -> String {
    format!("{task}-{step}")
}
