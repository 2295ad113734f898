//! What the service does: one file for each thing, each a plain function over one transaction.

mod act;
mod admin_key;
mod advance_task;
mod announce;
mod audit;
mod authenticate;
mod by_clock;
mod cancel_task;
mod create_account;
mod create_api_key;
mod create_task;
mod decide_dispute;
mod delete_account;
mod erase_account;
mod evidence;
mod find_tasks;
mod notify;
mod payment;
mod payment_method;
mod payout_account;
mod queue;
mod receive_notice;
mod report;
mod retry_job;
mod review_proof;
mod revoke_api_key;
mod set_tier;
mod sign_in_worker;
mod submit_proof;
mod suspend_account;
mod test_clock;
mod update_task;
mod verify_ledger;
mod verify_worker;
mod webhook;
mod worker_acts;

pub use act::act;
pub use admin_key::{IssuedAdminKey, authenticate_admin, create_admin_key, revoke_admin_key};
pub use advance_task::{advance_task, way};
pub use announce::{BOUNTY_PAGE, announce_bounty, announce_worker};
pub use audit::{AuditReport, audit, verify_audit};
pub use authenticate::authenticate;
pub use by_clock::act_by_clock;
pub use cancel_task::cancel_task;
pub use create_account::{OpenedAccount, create_account};
pub use create_api_key::{IssuedKey, create_api_key};
pub use create_task::{Funding, create_task};
pub use decide_dispute::{decide_dispute, dispute_of};
pub use delete_account::delete_account;
pub use erase_account::{
    ErasedPage, TasksPage, erase_account, erase_page, erase_traces, page_to_erase,
};
pub use evidence::{Evidence, Finding, evidence};
pub use find_tasks::{Found, FoundCursor, Search, SearchOrder, find_tasks};
pub use payment::{
    payment_cancelled, payment_failed, payment_succeeded, payout_failed, refunded, transferred,
};
pub use payment_method::{put_payment_method, remove_payment_method};
pub use payout_account::{payout_account_changed, payout_account_opened, waits_for_payout_account};
pub use queue::{claim_item, clear_item, note_item, release_item};
pub use receive_notice::{receive_notice, receive_sandbox_notice};
pub use report::month_report;
pub use retry_job::{retry_job, retry_payout, write_off_payout};
pub use review_proof::{Reviewed, approve_proof, reject_proof};
pub use revoke_api_key::revoke_api_key;
pub use set_tier::set_tier;
pub use sign_in_worker::{TOKEN_LIFE, authenticate_worker, issue_token, sign_up_worker};
pub use submit_proof::submit_proof;
pub use suspend_account::{restore_account, show_posted_tasks, suspend_account};
pub use test_clock::{act_in_test, due_in_test, move_test_clock, reset_test_clock};
pub use update_task::update_task;
pub use verify_ledger::{LedgerReport, VerifyError, verify_ledger};
pub use verify_worker::{
    refuse_worker, restore_worker, send_verification, suspend_worker, verify_worker,
};
pub use webhook::{
    DeliveryOutcome, endpoint_of, give_up_deliveries, put_webhook, record_deliveries, redeliver,
    remove_webhook, rotate_webhook_secret,
};
pub use worker_acts::{accept_task, act_on_own_task, dispute_task, own_task_to_prove};

use crate::domain::{AccountStatus, NotAllowed, NotEligible, WorkerStatus};
use crate::payments::ProcessorError;
use crate::store::StoreError;

/// Why something was not done. Nothing of it has been kept.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refusal {
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

impl From<ProcessorError> for Refusal {
    fn from(error: ProcessorError) -> Self {
        Self::PaymentUnavailable(error.to_string())
    }
}
