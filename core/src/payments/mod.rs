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
    AccountId, ChargeDisputeStatus, ChargedMethod, OutgoingKind, PaymentFailure, PaymentIntent,
    ProcessorName, Step, TaskId, Timestamp, WorkerId,
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
    /// What the ledger knows to have been moved by this step before, and not to have come back.
    pub already_cents: i64,
    /// Whether this may have been requested before, however long ago. Processors forget idempotency
    /// keys after about a day, so a retry first checks what took effect.
    pub is_retry: bool,
}

/// What a processor has done of an outgoing movement, by its own records.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Look {
    /// It was made. This is its id.
    Made(String),
    /// It was not made. So many earlier requests of this step did not move the money or were
    /// reversed.
    NotMade { earlier: usize },
}

impl Look {
    fn made(self) -> Option<String> {
        match self {
            Self::Made(id) => Some(id),
            Self::NotMade { .. } => None,
        }
    }
}

impl Outgoing {
    /// Compares with what the processor says it moved by this step of this task, newest first: ids, and
    /// the cents that did not come back.
    fn look(&self, found: &[(String, i64)]) -> Result<Look, ProcessorError> {
        let moved: i64 = found.iter().map(|(_, cents)| cents).sum();
        if moved == self.already_cents {
            return Ok(Look::NotMade {
                earlier: found.len(),
            });
        }
        let made = found.iter().find(|(_, cents)| *cents == self.cents);
        match made {
            Some((id, _)) if moved == self.already_cents + self.cents => Ok(Look::Made(id.clone())),
            _ => Err(ProcessorError::Refused {
                code: "amount_mismatch".to_owned(),
                message: format!(
                    "The processor has moved {moved} cents, but the ledger knows of {} and {} are owed.",
                    self.already_cents, self.cents
                ),
            }),
        }
    }
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

    /// Creates a payment that can be paid with its secret. The same task gets the same payment.
    async fn create_payment(&self, new: &NewPayment) -> Result<PaymentIntent, ProcessorError>;

    /// Pays a payment off-session with a stored payment method.
    async fn charge(
        &self,
        task: TaskId,
        payment: &str,
        method: &ChargedMethod,
    ) -> Result<Charge, ProcessorError>;

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

    /// The payment that `create_and_charge` has created for a task.
    async fn find_payment(&self, _: TaskId) -> Result<Option<PaymentIntent>, ProcessorError> {
        Ok(None)
    }

    async fn cancel_payment(
        &self,
        task: TaskId,
        payment: &str,
    ) -> Result<Cancellation, ProcessorError>;

    /// Returns the processor's id of the refund.
    async fn refund(&self, refund: &Outgoing) -> Result<String, ProcessorError>;

    /// Returns the processor's id of the transfer.
    async fn transfer(
        &self,
        transfer: &Outgoing,
        payout_account: &str,
    ) -> Result<String, ProcessorError>;

    /// The processor's id of a refund or a transfer that was requested before, if it was made. Only asks:
    /// nothing is moved.
    async fn find_made(
        &self,
        kind: OutgoingKind,
        outgoing: &Outgoing,
    ) -> Result<Option<String>, ProcessorError>;

    /// What became of a dispute, as an event would say it. None if the processor does not know it.
    async fn find_dispute(&self, id: &str) -> Result<Option<ProcessorEventKind>, ProcessorError>;

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

/// The idempotency key of a step that is requested anew after earlier requests came to nothing.
fn key_after(task: TaskId, step: &str, earlier: usize) -> String {
    match earlier {
        0 => key(task, step),
        earlier => format!("{task}-{step}-{}", earlier + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(cents: i64, already_cents: i64) -> Outgoing {
        Outgoing {
            task: TaskId::new(Timestamp::from_millis(1), &[1; 10]),
            payment: "pi_1".to_owned(),
            cents,
            already_cents,
            is_retry: true,
        }
    }

    fn look(cents: i64, already: i64, found: &[(&str, i64)]) -> Result<Look, String> {
        let found: Vec<_> = found
            .iter()
            .map(|(id, cents)| ((*id).to_owned(), *cents))
            .collect();
        let looked = outgoing(cents, already).look(&found);
        looked.map_err(|error| match error {
            ProcessorError::Refused { code, .. } => code,
            ProcessorError::Unavailable(_) => "unavailable".to_owned(),
        })
    }

    #[test]
    fn a_look_tells_what_was_made_by_its_amount() {
        let made = |id: &str| Ok(Look::Made(id.to_owned()));
        let not_made = |earlier| Ok(Look::NotMade { earlier });
        let mismatch = || Err("amount_mismatch".to_owned());
        for (cents, already, found, expected) in [
            (1250, 0, vec![], not_made(0)),
            (1250, 0, vec![("re_1", 1250)], made("re_1")),
            // The first one failed; the second one was made or was not.
            (1250, 0, vec![("re_1", 0)], not_made(1)),
            (1250, 0, vec![("re_2", 1250), ("re_1", 0)], made("re_2")),
            // A part of a transfer was reversed and is owed again.
            (500, 1600, vec![("tr_1", 1600)], not_made(1)),
            (500, 1600, vec![("tr_2", 500), ("tr_1", 1600)], made("tr_2")),
            // Neither: somebody has to look.
            (1250, 0, vec![("re_1", 2500)], mismatch()),
            (1250, 0, vec![("re_2", 1250), ("re_1", 1250)], mismatch()),
            (2100, 0, vec![("tr_1", 1600)], mismatch()),
            (500, 1600, vec![("tr_1", 2100)], mismatch()),
        ] {
            assert_eq!(look(cents, already, &found), expected, "{cents} {found:?}");
        }
    }

    #[test]
    fn a_new_request_has_a_new_key() {
        let task = outgoing(1, 0).task;
        assert_eq!(key_after(task, "refund", 0), format!("{task}-refund"));
        assert_eq!(key_after(task, "refund", 1), format!("{task}-refund-2"));
    }
}
