//! What the service does: one file for each thing, each a plain function over one transaction.

mod act;
mod authenticate;
mod cancel_task;
mod create_account;
mod create_api_key;
mod create_task;
mod payment;
mod payout_account;
mod receive_notice;
mod revoke_api_key;
mod update_task;
mod verify_ledger;

pub use act::act;
pub use authenticate::authenticate;
pub use cancel_task::cancel_task;
pub use create_account::{OpenedAccount, create_account};
pub use create_api_key::{IssuedKey, create_api_key};
pub use create_task::{Funding, create_task};
pub use payment::{payment_cancelled, payment_failed, payment_succeeded, refunded, transferred};
pub use payout_account::{payout_account_changed, payout_account_opened, waits_for_payout_account};
pub use receive_notice::{receive_notice, receive_sandbox_notice};
pub use revoke_api_key::revoke_api_key;
pub use update_task::update_task;
pub use verify_ledger::{LedgerReport, VerifyError, verify_ledger};

use crate::domain::NotAllowed;
use crate::payments::ProcessorError;
use crate::store::StoreError;

/// Why something was not done. Nothing of it has been kept.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the API key is missing, malformed, unknown or revoked")]
    Unauthorized,
    #[error("the account is suspended or deleted")]
    AccountSuspended,
    #[error("no such task")]
    TaskNotFound,
    #[error("no such API key")]
    KeyNotFound,
    #[error("the limit of {limit} tasks a month is reached")]
    TaskLimitExceeded { limit: i64 },
    #[error("an account with this e-mail address exists already")]
    EmailTaken,
    /// With the reason, which is for the log alone.
    #[error("payments cannot be made right now; try again later")]
    PaymentUnavailable(String),
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ProcessorError> for Refusal {
    fn from(error: ProcessorError) -> Self {
        Self::PaymentUnavailable(error.to_string())
    }
}
