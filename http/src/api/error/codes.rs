//! The one table of errors: code, status and meaning. The runtime, the OpenAPI description and the
//! table in docs/ come from it.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use utoipa::IntoResponses;
use utoipa::openapi::{RefOr, Response};

type Responses = BTreeMap<String, RefOr<Response>>;

macro_rules! error_codes {
    ($($name:ident $code:literal $status:literal $meaning:literal;)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ErrorCode {
            $($name),+
        }

        impl ErrorCode {
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code),+ }
            }

            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning),+ }
            }

            /// As the description names its response.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }

            pub fn status(self) -> StatusCode {
                let status = match self { $(Self::$name => $status),+ };
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }

        /// For the `responses(...)` of an operation: that it can answer this error.
        #[allow(dead_code, reason = "not every error is named by an operation")]
        pub mod can_answer {
            use super::*;

            $(pub struct $name;

            impl IntoResponses for $name {
                fn responses() -> Responses {
                    placeholders([ErrorCode::$name])
                }
            })+
        }

        impl utoipa::PartialSchema for ErrorCode {
            fn schema() -> RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::Type::String)
                    .enum_values(Some([$($code),+]))
                    .into()
            }
        }
    };
}

error_codes! {
    ValidationError "VALIDATION_ERROR" 400 "The request is invalid. `details` names every field and what is wrong with it.";
    Unauthorized "UNAUTHORIZED" 401 "The key or token is missing, malformed, unknown, expired or revoked.";
    InvalidCode "INVALID_CODE" 401 "The code of the second factor is wrong, or was used already.";
    InvalidCredentials "INVALID_CREDENTIALS" 401 "The e-mail address or the password is wrong.";
    SecondFactorRequired "SECOND_FACTOR_REQUIRED" 401 "A code of the second factor is needed. Workers sign in with `code`; admins open a session with a code and use its token.";
    AccountSuspended "ACCOUNT_SUSPENDED" 403 "The account or the worker is suspended.";
    EmailNotConfirmed "EMAIL_NOT_CONFIRMED" 403 "The e-mail address is not confirmed. Live tasks of developers and the verification of workers need that.";
    Forbidden "FORBIDDEN" 403 "The role of the admin key does not allow this.";
    KeyInBrowser "KEY_IN_BROWSER" 403 "A web page of another host has sent an API key. Whoever opens the page can read the key: send the request from your own server.";
    MandateExceeded "MANDATE_EXCEEDED" 403 "A limit of the key's mandate stands in the way. `details` names each with what is used and left.";
    MandateExpired "MANDATE_EXPIRED" 403 "The mandate of the key has expired.";
    MandatePaused "MANDATE_PAUSED" 403 "The mandate of the key is paused.";
    PermissionDenied "PERMISSION_DENIED" 403 "The key may not do this. The message names the permission that its mandate lacks.";
    SecondFactorNotSetUp "SECOND_FACTOR_NOT_SET_UP" 403 "This service requires a second factor, and you have none. Set it up first.";
    SignInAgain "SIGN_IN_AGAIN" 403 "Your sign-in is older than 10 minutes. Sign in again and repeat the request with the new token.";
    TaskLimitExceeded "TASK_LIMIT_EXCEEDED" 403 "The monthly task limit of the tier is reached.";
    TestModeOnly "TEST_MODE_ONLY" 403 "This works with a test key only.";
    UrlExpired "URL_EXPIRED" 403 "The signed URL has expired. List the proofs again to get a fresh one.";
    UrlInvalid "URL_INVALID" 403 "The signed URL was altered, or was not issued by this service.";
    WorkerNotEligible "WORKER_NOT_ELIGIBLE" 403 "The worker may not accept this task. The message says why.";
    AccountNotFound "ACCOUNT_NOT_FOUND" 404 "There is no such account.";
    ApprovalNotFound "APPROVAL_NOT_FOUND" 404 "The task does not need an approval.";
    DeliveryNotFound "DELIVERY_NOT_FOUND" 404 "There is no such webhook delivery.";
    DisputeNotFound "DISPUTE_NOT_FOUND" 404 "The task was never disputed.";
    ItemNotFound "ITEM_NOT_FOUND" 404 "There is no such item in the review queue.";
    JobNotFound "JOB_NOT_FOUND" 404 "There is no such dead job.";
    KeyNotFound "KEY_NOT_FOUND" 404 "There is no such API key.";
    MandateNotFound "MANDATE_NOT_FOUND" 404 "The key has no mandate.";
    NotFound "NOT_FOUND" 404 "There is nothing at this path.";
    NotificationNotFound "NOTIFICATION_NOT_FOUND" 404 "There is no such notification.";
    ProofNotFound "PROOF_NOT_FOUND" 404 "There is no such proof of this task.";
    ProposalNotFound "PROPOSAL_NOT_FOUND" 404 "No decision about this task waits for a second admin.";
    QuoteNotFound "QUOTE_NOT_FOUND" 404 "There is no such quote, or it belongs to another account, environment or key.";
    SessionNotFound "SESSION_NOT_FOUND" 404 "There is no such session.";
    TaskNotFound "TASK_NOT_FOUND" 404 "There is no such task, or it belongs to another account.";
    UploadNotFound "UPLOAD_NOT_FOUND" 404 "There is no such upload, or it belongs to another worker.";
    WorkerNotFound "WORKER_NOT_FOUND" 404 "There is no such worker.";
    MethodNotAllowed "METHOD_NOT_ALLOWED" 405 "The path does not take this method. `Allow` names those it takes.";
    RequestTimeout "REQUEST_TIMEOUT" 408 "The body did not arrive in time.";
    ApprovalDecided "APPROVAL_DECIDED" 409 "The approval was decided already, or the task is over. The message says which.";
    EmailTaken "EMAIL_TAKEN" 409 "The e-mail address is in use.";
    ExportUnderWay "EXPORT_UNDER_WAY" 409 "An export is already being made.";
    IdempotencyInFlight "IDEMPOTENCY_IN_FLIGHT" 409 "A request with this Idempotency-Key is still in progress.";
    InvalidAccountState "INVALID_ACCOUNT_STATE" 409 "The status of the account does not allow this.";
    InvalidTaskState "INVALID_TASK_STATE" 409 "The status of the task does not allow this.";
    InvalidWorkerState "INVALID_WORKER_STATE" 409 "The status of the worker does not allow this.";
    ItemClaimed "ITEM_CLAIMED" 409 "Another admin has claimed the item.";
    ItemClosed "ITEM_CLOSED" 409 "The item was decided already.";
    ItemNeedsDecision "ITEM_NEEDS_DECISION" 409 "An item of this kind is closed by a decision. It cannot be cleared.";
    LastKey "LAST_KEY" 409 "This is the last live key, the last test key, or the last key that can manage the account. Send `{\"confirm\": true}` to revoke it.";
    LastOwnerKey "LAST_OWNER_KEY" 409 "No other owner would be left. Create another key with the role `owner` first.";
    LastUnlimitedKey "LAST_UNLIMITED_KEY" 409 "No key without a mandate would be left to manage the account with.";
    OffsetMismatch "OFFSET_MISMATCH" 409 "The upload has another number of bytes, or another request goes on with it. `Upload-Offset` says how many there are.";
    PayoutNotFailed "PAYOUT_NOT_FAILED" 409 "No payout for this task has failed permanently.";
    ProposalPending "PROPOSAL_PENDING" 409 "Another decision waits for a second admin. Confirm it in the same words, or have it withdrawn.";
    RefundDiffers "REFUND_DIFFERS" 409 "Cancelling would refund another amount than you expect. The message and `details` say how much.";
    RefundNotFailed "REFUND_NOT_FAILED" 409 "No refund for this task has failed permanently.";
    RotatedRecently "ROTATED_RECENTLY" 409 "Three webhook secrets were replaced within the last 24 hours, and all of them still sign.";
    SecondFactorOff "SECOND_FACTOR_OFF" 409 "The second factor is off, or its setup has not begun.";
    SecondFactorOn "SECOND_FACTOR_ON" 409 "The second factor is on. Turn it off before you set up another.";
    StorageFull "STORAGE_FULL" 409 "The stored proofs of the account fill its storage. Nothing was stored.";
    TasksOpen "TASKS_OPEN" 409 "The account or the worker still has open tasks, or money is still moving.";
    TooManyKeys "TOO_MANY_KEYS" 409 "The account has as many active API keys as it may have. Revoke one first.";
    UploadIncomplete "UPLOAD_INCOMPLETE" 409 "An upload is not complete. `details` says how much of it has arrived.";
    WebhookDisabled "WEBHOOK_DISABLED" 409 "The webhook is disabled. Set it again to enable it.";
    WebhookNotConfigured "WEBHOOK_NOT_CONFIGURED" 409 "The account has no webhook.";
    LinkExpired "LINK_EXPIRED" 410 "The link is unknown, has expired or was used already. Ask for a new one.";
    QuoteExpired "QUOTE_EXPIRED" 410 "The quote has expired. Ask for a new one.";
    UploadGone "UPLOAD_GONE" 410 "The upload has expired, was deleted, or was used for a proof. Begin a new one.";
    TusVersionUnsupported "TUS_VERSION_UNSUPPORTED" 412 "The version of the protocol for uploads is not supported. `Tus-Version` names the one that is.";
    FileTooLarge "FILE_TOO_LARGE" 413 "The file is larger than its type allows.";
    PayloadTooLarge "PAYLOAD_TOO_LARGE" 413 "The body is too large.";
    UnsupportedMediaType "UNSUPPORTED_MEDIA_TYPE" 415 "The body is not of the content type that this takes.";
    IdempotencyMismatch "IDEMPOTENCY_MISMATCH" 422 "The Idempotency-Key was used for a different request.";
    RateLimited "RATE_LIMITED" 429 "Too many requests. Retry after the seconds in `Retry-After`.";
    TooManyExports "TOO_MANY_EXPORTS" 429 "You have asked for as many exports as you can in a day. The message says when the next one is possible.";
    TooManyQuotes "TOO_MANY_QUOTES" 429 "You have as many open quotes as you can have. Redeem some, or retry after the seconds in `Retry-After`.";
    TooManyUploads "TOO_MANY_UPLOADS" 429 "You have as many open uploads as you can have. Use or delete one.";
    ChecksumMismatch "CHECKSUM_MISMATCH" 460 "The bytes are not what their checksum says. They were dropped: send them again.";
    Internal "INTERNAL" 500 "Something went wrong on our side. If this persists, contact the operator with the request ID.";
    PaymentUnavailable "PAYMENT_UNAVAILABLE" 503 "The payment processor cannot be reached. Nothing was changed; retry later.";
    Unavailable "UNAVAILABLE" 503 "The service cannot do this right now. Retry, with the same Idempotency-Key if you sent one.";
}

impl serde::Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl utoipa::ToSchema for ErrorCode {}

/// Several codes can have the same status, and an operation can name a status once. So each is named
/// by status and code here, and `openapi::finish` puts those of a status together.
fn placeholders(codes: impl IntoIterator<Item = ErrorCode>) -> Responses {
    let placeholder = |code: ErrorCode| {
        let key = format!("{} {}", code.status().as_u16(), code.as_str());
        (key, RefOr::T(Response::new(code.meaning())))
    };
    codes.into_iter().map(placeholder).collect()
}

macro_rules! groups {
    ($($(#[$doc:meta])* $group:ident = $($code:ident),+;)+) => { $(
        $(#[$doc])*
        pub struct $group;

        impl IntoResponses for $group {
            fn responses() -> Responses {
                placeholders([$(ErrorCode::$code),+])
            }
        }
    )+ };
}

/// Errors that many operations share.
pub mod groups {
    use super::*;

    groups! {
        /// Of every request that needs no key.
        Anybody = RateLimited, Internal, Unavailable;
        /// Of every request with an API key.
        Developer = Unauthorized, AccountSuspended, KeyInBrowser, MandateExpired, MandatePaused, PermissionDenied, RateLimited, Internal, Unavailable;
        /// Of every request with a worker's token.
        Worker = Unauthorized, SecondFactorRequired, AccountSuspended, SecondFactorNotSetUp, RateLimited, Internal, Unavailable;
        /// Of every request with an admin key.
        Admin = Unauthorized, SecondFactorRequired, Forbidden, KeyInBrowser, SecondFactorNotSetUp, RateLimited, Internal, Unavailable;
        /// Of every request with a body.
        Body = ValidationError, RequestTimeout, PayloadTooLarge;
        /// Of every request with query parameters.
        Query = ValidationError;
        /// Of every POST with an Idempotency-Key.
        Idempotency = IdempotencyInFlight, IdempotencyMismatch;
    }
}

/// The table as Markdown, for docs/.
pub fn markdown_table() -> String {
    let mut codes = ErrorCode::ALL.to_vec();
    codes.sort_by_key(|code| (code.status().as_u16(), code.as_str()));
    let mut table = "| Code | Status | Meaning |\n|---|---|---|\n".to_owned();
    for code in codes {
        let (status, meaning) = (code.status().as_u16(), code.meaning());
        table.push_str(&format!("| `{}` | {status} | {meaning} |\n", code.as_str()));
    }
    table
}
