//! The payment processor: one trait and two implementations.
//!
//! If a call gets no response, the caller cannot know whether it took effect. So every request
//! carries an idempotency key made from the task and the step, and can be sent again: it takes
//! effect once. A response, also one that says no, is repeated for as long as the processor remembers
//! the key. So after a response the next attempt has another key.

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

/// Money out of a payment: a refund to the developer or a transfer to a worker.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub attempt: Attempt,
    /// Who paid.
    pub account: AccountId,
    /// The processor's id of the payment that the money came from.
    pub payment: String,
    pub cents: i64,
    /// What the ledger knows to have been moved by this step before, and not to have come back.
    pub already_cents: i64,
    /// The processor's ids of what the ledger knows, for a look.
    pub recorded: Vec<String>,
}

/// A movement that a processor has made, by its own records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub id: String,
    pub cents: i64,
    /// How much of it has come back.
    pub returned_cents: i64,
}

impl Made {
    const fn moved_cents(&self) -> i64 {
        self.cents - self.returned_cents
    }
}

/// What a processor has done of an outgoing movement, by its own records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// It was made, and perhaps came back before it was recorded.
    Made(Made),
    /// It was not made. So many earlier requests of this step did not move the money or were
    /// reversed.
    NotMade { earlier: usize },
}

impl Outgoing {
    /// Compares with what the processor says it made by this step of this task, newest first.
    fn look(&self, found: &[Made]) -> Result<Look, ProcessorError> {
        let moved: i64 = found.iter().map(Made::moved_cents).sum();
        let is_this = |made: &&Made| {
            made.cents == self.cents
                && !self.recorded.contains(&made.id)
                && moved == self.already_cents + made.moved_cents()
        };
        if let Some(made) = found.iter().find(is_this) {
            return Ok(Look::Made(made.clone()));
        }
        if moved == self.already_cents {
            return Ok(Look::NotMade {
                earlier: found.len(),
            });
        }
        Err(ProcessorError::Refused {
            code: "amount_mismatch".to_owned(),
            message: format!(
                "The processor has moved {moved} cents, but the ledger knows of {} and {} are owed.",
                self.already_cents, self.cents
            ),
        })
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

    fn outgoing(cents: i64, already_cents: i64, recorded: &[&str]) -> Outgoing {
        Outgoing {
            attempt: Attempt::first(TaskId::new(Timestamp::from_millis(1), &[1; 10])),
            account: AccountId::new(Timestamp::from_millis(1), &[1; 10]),
            payment: "pi_1".to_owned(),
            cents,
            already_cents,
            recorded: recorded.iter().map(|id| (*id).to_owned()).collect(),
        }
    }

    fn made(id: &str, cents: i64, returned_cents: i64) -> Made {
        Made {
            id: id.to_owned(),
            cents,
            returned_cents,
        }
    }

    fn look(outgoing: &Outgoing, found: &[Made]) -> Result<Look, String> {
        outgoing.look(found).map_err(|error| match error {
            ProcessorError::Refused { code, .. } => code,
            ProcessorError::Unavailable(_) => "unavailable".to_owned(),
        })
    }

    #[test]
    fn a_look_tells_what_was_made_by_its_amount() {
        let this = |id: &str, cents| Ok(Look::Made(made(id, cents, 0)));
        let not_made = |earlier| Ok(Look::NotMade { earlier });
        let mismatch = || Err("amount_mismatch".to_owned());
        for (cents, already, found, expected) in [
            (1250, 0, vec![], not_made(0)),
            (1250, 0, vec![("re_1", 1250)], this("re_1", 1250)),
            // The first one failed; the second one was made or was not.
            (1250, 0, vec![("re_1", 0)], not_made(1)),
            (
                1250,
                0,
                vec![("re_2", 1250), ("re_1", 0)],
                this("re_2", 1250),
            ),
            // A part of a transfer was reversed and is owed again.
            (500, 1600, vec![("tr_1", 1600)], not_made(1)),
            (
                500,
                1600,
                vec![("tr_2", 500), ("tr_1", 1600)],
                this("tr_2", 500),
            ),
            // Neither: somebody has to look.
            (1250, 0, vec![("re_1", 2500)], mismatch()),
            (1250, 0, vec![("re_2", 1250), ("re_1", 1250)], mismatch()),
            (2100, 0, vec![("tr_1", 1600)], mismatch()),
            (500, 1600, vec![("tr_1", 2100)], mismatch()),
        ] {
            let found = found.into_iter().map(|(id, cents)| made(id, cents, 0));
            let found: Vec<_> = found.collect();
            let looked = look(&outgoing(cents, already, &[]), &found);
            assert_eq!(looked, expected, "{cents} {found:?}");
        }
    }

    #[test]
    fn what_came_back_before_it_was_recorded_was_made() {
        let this = |made: Made| Ok(Look::Made(made));
        let whole = made("tr_1", 2100, 2100);
        let part = made("tr_1", 2100, 100);
        for found in [&whole, &part] {
            let looked = look(&outgoing(2100, 0, &[]), std::slice::from_ref(found));
            assert_eq!(looked, this(found.clone()));
        }
        // The ledger knows it: it is sent again.
        let again = look(&outgoing(2100, 0, &["tr_1"]), std::slice::from_ref(&whole));
        assert_eq!(again, Ok(Look::NotMade { earlier: 1 }));
        // And the second one came back, too.
        let second = made("tr_2", 2100, 2100);
        let looked = look(&outgoing(2100, 0, &["tr_1"]), &[second.clone(), whole]);
        assert_eq!(looked, this(second));
        let rest = look(&outgoing(100, 2000, &["tr_1"]), &[part]);
        assert_eq!(rest, Ok(Look::NotMade { earlier: 1 }));
    }

    #[test]
    fn every_attempt_has_its_own_key() {
        let first = outgoing(1, 0, &[]).attempt;
        let task = first.task;
        for (earlier, keys_spent, key) in [
            (0, 0, format!("{task}-refund")),
            (1, 0, format!("{task}-refund-2")),
            (0, 1, format!("{task}-refund-after-1")),
            (1, 1, format!("{task}-refund-2-after-1")),
            (0, 2, format!("{task}-refund-after-2")),
        ] {
            let attempt = Attempt {
                earlier,
                keys_spent,
                ..first
            };
            assert_eq!(attempt.key("refund"), key);
        }
    }
}
