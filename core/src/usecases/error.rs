//! Why a use case failed.

use crate::domain::accounts::mandate::{Denied, Permission, Refusal};
use crate::domain::tasks::approval::ApprovalStatus;
use crate::domain::{
    AccountStatus, Decision, Environment, FieldErrors, NotAllowed, NotEligible, Status, Timestamp,
    WorkerStatus,
};
use crate::payments::ProcessorError;
use crate::store::StoreError;

/// Why a use case failed. Nothing was written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UseCaseError {
    #[error("the API key is missing, malformed, unknown or revoked")]
    Unauthorized,
    #[error("the account is suspended")]
    AccountSuspended,
    #[error("the role of this admin key does not allow this")]
    Forbidden,
    #[error("no such account")]
    AccountNotFound,
    #[error("an account that is {status} cannot {what}")]
    InvalidAccountState {
        status: AccountStatus,
        what: &'static str,
    },
    #[error("the account still has {open} open tasks")]
    TasksOpen { open: i64 },
    #[error("these tasks are still open: {tasks}")]
    WorkerTasksOpen { tasks: String },
    #[error("payouts for these tasks are still to be made: {tasks}")]
    PayoutsOpen { tasks: String },
    #[error("payments, refunds or payouts of the account are still pending; try again later")]
    MoneyOwed,
    #[error("no such task")]
    TaskNotFound,
    #[error("cancelling would refund {refund_cents} cents now, not {expected_cents}")]
    RefundDiffers {
        refund_cents: i64,
        expected_cents: i64,
    },
    #[error("{}", cannot_advance(*from, *to, possible))]
    CannotAdvance {
        from: Status,
        /// None for the next step of the happy path.
        to: Option<Status>,
        possible: Vec<Status>,
    },
    #[error("no such quote")]
    QuoteNotFound,
    #[error("the quote has expired; ask for a new one")]
    QuoteExpired,
    #[error("an account can have {limit} open quotes; redeem some or wait until some have expired")]
    TooManyQuotes {
        limit: i64,
        retry_after_seconds: u64,
    },
    #[error("no such proof")]
    ProofNotFound,
    #[error("no such upload")]
    UploadNotFound,
    #[error("the upload has expired, was deleted, or was used for a proof")]
    UploadGone,
    #[error("{offset} bytes of the upload have arrived: go on there")]
    OffsetMismatch { offset: i64 },
    /// What has arrived, by proof type.
    #[error("{}", incomplete(.0))]
    UploadIncomplete(FieldErrors),
    #[error("{limit} uploads are open: use or delete one first")]
    TooManyUploads { limit: i64 },
    #[error("another upload has this name")]
    UploadNameUsed,
    #[error("another request was answered under this Idempotency-Key")]
    KeyUsed,
    #[error("no such worker")]
    WorkerNotFound,
    #[error("no such notification")]
    NotificationNotFound,
    #[error("no such item")]
    ItemNotFound,
    #[error("another admin is working on this item")]
    ItemClaimed,
    #[error("this item has already been decided")]
    ItemClosed,
    #[error("an item of this kind is closed by a decision and cannot be cleared")]
    ItemNeedsDecision,
    #[error(
        "another decision waits for a second admin: {0}; confirm it in the same words, or have it withdrawn"
    )]
    ProposalPending(String),
    #[error("no decision waits for a second admin")]
    ProposalNotFound,
    #[error("the dispute has already been decided: {decision}{}", of_cents(*paid_cents))]
    DisputeDecided {
        decision: Decision,
        paid_cents: Option<i64>,
    },
    #[error("there was no dispute about this task")]
    DisputeNotFound,
    #[error("a split must leave part of the budget of {budget_cents} cents to each side")]
    NoSplit { budget_cents: i64 },
    #[error("no such dead job")]
    JobNotFound,
    #[error("no payout for this task has failed permanently")]
    PayoutNotFailed,
    #[error("no refund for this task has failed permanently")]
    RefundNotFailed,
    #[error("an export is already being made: {id}")]
    ExportUnderWay { id: String },
    #[error("you can ask for {limit} exports a day; ask again at {next_at}")]
    TooManyExports {
        limit: i64,
        next_at: Timestamp,
        retry_after_seconds: u64,
    },
    #[error("no such delivery")]
    DeliveryNotFound,
    #[error("no webhook is configured")]
    WebhookNotConfigured,
    #[error("the webhook is disabled; set it again to enable it")]
    WebhookDisabled,
    #[error("three replaced secrets still sign; the next rotation is possible at {free_at}")]
    RotatedRecently { free_at: Timestamp },
    #[error("no such API key")]
    KeyNotFound,
    #[error("this is the last key of an owner; create another one first")]
    LastOwnerKey,
    #[error("an account can have {limit} active API keys; revoke one first")]
    TooManyKeys { limit: i64 },
    #[error("{}", last_key(*locks_out_of, *manages_alone))]
    LastKey {
        /// The environment in which no key would be left.
        locks_out_of: Option<Environment>,
        /// No key that can manage the account would be left.
        manages_alone: bool,
    },
    #[error("no such session")]
    SessionNotFound,
    #[error("the link is unknown, has expired or was used already")]
    LinkExpired,
    #[error("the e-mail address or the password is wrong")]
    WrongPassword,
    #[error("confirm your e-mail address first; the link is in your mailbox")]
    EmailNotConfirmed,
    #[error("the code is wrong, or was used already")]
    WrongCode,
    #[error("the second factor is missing")]
    SecondFactorRequired,
    #[error("the operator requires a second factor")]
    SecondFactorNotSetUp,
    #[error("the second factor is on already")]
    SecondFactorOn,
    #[error("the second factor is off")]
    SecondFactorOff,
    #[error("the sign-in is too old for this")]
    SignInAgain,
    #[error("a worker with this e-mail address already exists")]
    WorkerEmailTaken,
    #[error(transparent)]
    NotEligible(#[from] NotEligible),
    #[error("a worker who is {status} cannot {what}")]
    InvalidWorkerState {
        status: WorkerStatus,
        what: &'static str,
    },
    #[error("this proof has already been reviewed")]
    ProofReviewed,
    #[error("the time to dispute has passed")]
    TooLateToDispute,
    #[error(
        "the developer's storage of {limit_bytes} bytes is full, so nothing was stored: send it \
         again when the developer has more"
    )]
    StorageFull { limit_bytes: u64 },
    #[error("this needs the permission `{0}`, which the mandate of this key does not give")]
    PermissionMissing(Permission),
    #[error("this needs a key without a mandate")]
    MandateForbids,
    #[error("a key with a mandate changes only tasks that it created with one")]
    TaskOfAnotherKey,
    #[error("a test key of this account manages test keys alone; use a live key")]
    TestKeyConfined,
    #[error("the mandate of this key is paused")]
    MandatePaused,
    #[error("the mandate of this key has expired")]
    MandateExpired,
    /// Every limit that stands in the way.
    #[error("{}", exceeded(.0))]
    MandateExceeded(Vec<Refusal>),
    #[error("nobody has to agree to this task")]
    ApprovalNotFound,
    #[error("the approval of this task is {status}")]
    ApprovalDecided { status: ApprovalStatus },
    #[error("this key has no mandate")]
    MandateNotFound,
    #[error("no other key without a mandate would be left")]
    LastUnlimitedKey,
    /// Fields that contradict each other, or what is known only now.
    #[error("the request contradicts itself")]
    Invalid(FieldErrors),
    #[error("the limit of {limit} tasks per month is reached")]
    TaskLimitExceeded { limit: i64 },
    #[error("an account with this e-mail address already exists")]
    EmailTaken,
    /// The reason goes to the log only.
    #[error("payments are temporarily unavailable; try again later")]
    PaymentUnavailable(String),
    /// The reason goes to the log only.
    #[error("file storage is temporarily unavailable; try again later")]
    FilesUnavailable(String),
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn incomplete(errors: &FieldErrors) -> String {
    let told = errors.kept().iter().map(|error| {
        let (field, message) = (&error.field, &error.message);
        format!("{field} {message}")
    });
    told.collect::<Vec<_>>().join("; ")
}

fn last_key(locks_out_of: Option<Environment>, manages_alone: bool) -> String {
    let locks_out = locks_out_of.map(|environment| {
        format!("revoking the last {environment} key locks you out of that environment")
    });
    let manages = manages_alone.then(|| "no key that can manage the account would be left".into());
    let told: Vec<_> = locks_out.into_iter().chain(manages).collect();
    let told = told.join(", and ");
    format!("{told}; send {{\"confirm\": true}} to revoke it")
}

fn exceeded(refusals: &[Refusal]) -> String {
    match refusals {
        [one] => format!(
            "the mandate of this key does not allow it: {}: {}",
            one.limit, one.message
        ),
        many => format!(
            "the mandate of this key does not allow it: {} limits; see details",
            many.len()
        ),
    }
}

impl From<Denied> for UseCaseError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Paused => Self::MandatePaused,
            Denied::Expired => Self::MandateExpired,
            Denied::Missing(permission) => Self::PermissionMissing(permission),
            Denied::HasMandate => Self::MandateForbids,
        }
    }
}

fn of_cents(paid_cents: Option<i64>) -> String {
    paid_cents.map_or_else(String::new, |cents| format!(", {cents} cents paid"))
}

impl From<ProcessorError> for UseCaseError {
    fn from(error: ProcessorError) -> Self {
        Self::PaymentUnavailable(error.to_string())
    }
}

fn cannot_advance(from: Status, to: Option<Status>, possible: &[Status]) -> String {
    let to = match to {
        None => "has no next step".to_owned(),
        Some(to) if to == from => format!("cannot be advanced to {to}: it is there already"),
        Some(to) => format!("cannot be advanced to {to}"),
    };
    let possible: Vec<_> = possible.iter().map(|status| status.as_str()).collect();
    let possible = match possible.as_slice() {
        [] => "there is no status that it can be advanced to".to_owned(),
        possible => format!("it can be advanced to {}", possible.join(", ")),
    };
    format!("a task that is {from} {to}; {possible}")
}
