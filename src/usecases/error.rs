//! Why a use case did nothing.

use crate::domain::{AccountStatus, NotAllowed, NotEligible, WorkerStatus};
use crate::payments::ProcessorError;
use crate::store::StoreError;

/// Why something was not done. Nothing of it has been kept.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UseCaseError {
    #[error("the API key is missing, malformed, unknown or revoked")]
    Unauthorized,
    #[error("the account is suspended")]
    AccountSuspended,
    #[error("the role of this admin key does not allow it")]
    Forbidden,
    #[error("no such account")]
    AccountNotFound,
    #[error("an account that is {status} cannot {what}")]
    InvalidAccountState {
        status: AccountStatus,
        what: &'static str,
    },
    #[error("{open} tasks of the account are not over yet")]
    TasksOpen { open: i64 },
    #[error("money of the account's tasks is still on its way; try again later")]
    MoneyOwed,
    #[error("no such task")]
    TaskNotFound,
    #[error("no such proof")]
    ProofNotFound,
    #[error("no such worker")]
    WorkerNotFound,
    #[error("no such item")]
    ItemNotFound,
    #[error("another admin is working on this item")]
    ItemClaimed,
    #[error("this item has been decided already")]
    ItemClosed,
    #[error("there was no dispute about this task")]
    DisputeNotFound,
    #[error("a split leaves something of the budget of {budget_cents} for each side")]
    NoSplit { budget_cents: i64 },
    #[error("no such job was given up")]
    JobNotFound,
    #[error("no payout for this task was given up")]
    PayoutNotFailed,
    #[error("no such delivery")]
    DeliveryNotFound,
    #[error("no webhook is configured")]
    WebhookNotConfigured,
    #[error("the webhook is disabled; set it again to enable it")]
    WebhookDisabled,
    #[error("no such API key")]
    KeyNotFound,
    #[error("the e-mail address or the password is wrong")]
    WrongPassword,
    #[error("a worker with this e-mail address exists already")]
    WorkerEmailTaken,
    #[error(transparent)]
    NotEligible(#[from] NotEligible),
    #[error("a worker who is {status} cannot {what}")]
    InvalidWorkerState {
        status: WorkerStatus,
        what: &'static str,
    },
    #[error("this proof has been reviewed already")]
    ProofReviewed,
    #[error("the time to dispute is over")]
    TooLateToDispute,
    #[error("the limit of {limit} tasks a month is reached")]
    TaskLimitExceeded { limit: i64 },
    #[error("an account with this e-mail address exists already")]
    EmailTaken,
    /// With the reason, which is for the log alone.
    #[error("payments cannot be made right now; try again later")]
    PaymentUnavailable(String),
    /// With the reason, which is for the log alone.
    #[error("files cannot be stored right now; try again later")]
    FilesUnavailable(String),
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ProcessorError> for UseCaseError {
    fn from(error: ProcessorError) -> Self {
        Self::PaymentUnavailable(error.to_string())
    }
}
