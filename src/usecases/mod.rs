//! What the service does: one file for each thing, each a plain function over one transaction.

mod authenticate;
mod cancel_task;
mod create_account;
mod create_api_key;
mod create_task;
mod revoke_api_key;
mod update_task;

pub use authenticate::authenticate;
pub use cancel_task::cancel_task;
pub use create_account::{OpenedAccount, create_account};
pub use create_api_key::{IssuedKey, create_api_key};
pub use create_task::create_task;
pub use revoke_api_key::revoke_api_key;
pub use update_task::update_task;

use crate::domain::NotAllowed;
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
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    #[error(transparent)]
    Store(#[from] StoreError),
}
