//! Every way a request can fail, and how it is rendered.

pub mod codes;
pub mod refused;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::JSON;
use crate::api::error::codes::ErrorCode;
use crate::domain::accounts::mandate::{Denied, Refusal};
use crate::domain::proofs::uploads::UPLOADS_AT_ONCE;
use crate::domain::{FieldError, FieldErrors, NotAllowed, NotEligible};
use crate::files::FilesError;
use crate::limits::TooMany;
use crate::passwords::HashError;
use crate::payments::ProcessorError;
use crate::store::StoreError;
use crate::submission::SubmissionError;
use crate::usecases::UseCaseError;

#[derive(Clone, Debug)]
pub enum ApiError {
    Validation(FieldErrors),
    BodyTooLarge {
        limit: usize,
    },
    BodyTimeout,
    /// What the key may do changed before the body had come.
    MandateChanged,
    NotFound,
    MethodNotAllowed,
    RateLimited {
        retry_after_seconds: u64,
    },
    /// As many uploads as are allowed are in progress.
    TooManyUploads,
    /// A worker has sent as much as is allowed in a day.
    UploadedEnough {
        bytes_a_day: u64,
        retry_after_seconds: u64,
    },
    IdempotencyMismatch,
    IdempotencyInFlight,
    /// A live key was used for a test helper.
    TestModeOnly,
    FileTooLarge {
        limit: u64,
    },
    /// Not the version of the protocol for uploads that we speak.
    TusVersion,
    /// The body is not of the type that this takes.
    MediaType,
    /// A chunk of an upload is not what its checksum says.
    ChecksumMismatch,
    UrlExpired,
    UrlInvalid,
    /// A page of another host has sent an API key.
    KeyInBrowser,
    /// Too many wait for this already.
    Busy,
    UseCase(UseCaseError),
    Panicked,
}

impl ApiError {
    pub fn invalid(field: &str, message: &str) -> Self {
        Self::Validation(vec![FieldError::new(field, message)].into())
    }

    pub fn status(&self) -> StatusCode {
        self.code().status()
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Validation(_) => ErrorCode::ValidationError,
            Self::BodyTooLarge { .. } => ErrorCode::PayloadTooLarge,
            Self::BodyTimeout | Self::MandateChanged => ErrorCode::RequestTimeout,
            Self::NotFound => ErrorCode::NotFound,
            Self::MethodNotAllowed => ErrorCode::MethodNotAllowed,
            Self::RateLimited { .. } | Self::TooManyUploads | Self::UploadedEnough { .. } => {
                ErrorCode::RateLimited
            }
            Self::IdempotencyMismatch => ErrorCode::IdempotencyMismatch,
            Self::IdempotencyInFlight => ErrorCode::IdempotencyInFlight,
            Self::TestModeOnly => ErrorCode::TestModeOnly,
            Self::FileTooLarge { .. } => ErrorCode::FileTooLarge,
            Self::TusVersion => ErrorCode::TusVersionUnsupported,
            Self::MediaType => ErrorCode::UnsupportedMediaType,
            Self::ChecksumMismatch => ErrorCode::ChecksumMismatch,
            Self::KeyInBrowser => ErrorCode::KeyInBrowser,
            Self::UrlExpired => ErrorCode::UrlExpired,
            Self::UrlInvalid => ErrorCode::UrlInvalid,
            Self::Busy => ErrorCode::Unavailable,
            Self::UseCase(error) => use_case_code(error),
            Self::Panicked => ErrorCode::Internal,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Validation(errors) | Self::UseCase(UseCaseError::Invalid(errors)) => {
                match errors.kept() {
                    [error] if errors.count() == 1 => format!("{} {}", error.field, error.message),
                    _ => format!("the request has {} errors; see details", errors.count()),
                }
            }
            Self::BodyTooLarge { limit } => format!("the body must be at most {limit} bytes"),
            Self::FileTooLarge { limit } => format!("the file must be at most {limit} bytes"),
            Self::RateLimited {
                retry_after_seconds,
            } => format!("too many requests: retry in {retry_after_seconds} s"),
            Self::MandateChanged => "the mandate of this key, or what test keys may manage, changed while the body was arriving; send the request again".to_owned(),
            Self::TooManyUploads => {
                format!("{UPLOADS_AT_ONCE} uploads are in progress: retry when one has ended")
            }
            Self::UploadedEnough { bytes_a_day, .. } => {
                format!("you have sent {bytes_a_day} bytes today: go on tomorrow (UTC)")
            }
            Self::UseCase(error) if says_more_than_its_code(error) => error.to_string(),
            // The table says all there is to say, and nothing of what went wrong inside.
            _ => self.code().meaning().to_owned(),
        }
    }

    /// The cause of a failure, for the log alone.
    pub fn cause(&self) -> Option<String> {
        match self {
            // Said by a metric. A line for each of many refusals would make it worse.
            Self::UseCase(UseCaseError::Store(StoreError::Overloaded)) => None,
            Self::UseCase(UseCaseError::Store(error)) => Some(error.to_string()),
            Self::UseCase(
                UseCaseError::PaymentUnavailable(reason) | UseCaseError::FilesUnavailable(reason),
            ) => Some(reason.clone()),
            Self::Panicked => Some("a handler panicked".to_owned()),
            _ => None,
        }
    }

    /// The whole answer. The request id is known only at the edge, which calls this.
    pub fn render(&self, request_id: &str) -> Response {
        let body = serde_json::json!({ "error": self.content(request_id) });
        let json = (header::CONTENT_TYPE, JSON);
        let mut response = (self.status(), [json], body.to_string()).into_response();
        self.add_headers(response.headers_mut());
        response
    }

    /// What the answer tells.
    pub fn content(&self, request_id: &str) -> ErrorContent {
        let plain = |errors: &FieldErrors| {
            let errors = errors.kept().iter().cloned();
            Some(errors.map(ErrorDetail::from).collect())
        };
        let details = match self {
            Self::Validation(errors)
            | Self::UseCase(
                UseCaseError::Invalid(errors) | UseCaseError::UploadIncomplete(errors),
            ) => plain(errors),
            Self::UseCase(UseCaseError::RefundDiffers { refund_cents, .. }) => {
                let must_be = format!("must be {refund_cents}");
                let error = FieldError::new("expected_refund_cents", must_be);
                Some(vec![error.into()])
            }
            Self::UseCase(UseCaseError::MandateExceeded(refusals)) => {
                Some(refusals.iter().map(ErrorDetail::from).collect())
            }
            _ => None,
        };
        ErrorContent {
            code: self.code(),
            message: self.message(),
            details,
            request_id: request_id.to_owned(),
        }
    }

    fn add_headers(&self, headers: &mut axum::http::HeaderMap) {
        match self {
            Self::UseCase(UseCaseError::Unauthorized) => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::UseCase(UseCaseError::OffsetMismatch { offset }) => {
                headers.insert("upload-offset", (*offset).into());
            }
            Self::TusVersion => {
                headers.insert("tus-version", HeaderValue::from_static("1.0.0"));
            }
            Self::TooManyUploads => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            }
            Self::RateLimited {
                retry_after_seconds,
            }
            | Self::UploadedEnough {
                retry_after_seconds,
                ..
            }
            | Self::UseCase(
                UseCaseError::TooManyExports {
                    retry_after_seconds,
                    ..
                }
                | UseCaseError::TooManyQuotes {
                    retry_after_seconds,
                    ..
                },
            ) => {
                headers.insert(header::RETRY_AFTER, (*retry_after_seconds).into());
            }
            _ if self.status() == StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
    }
}

/// Whether the error says more than the table does: which status, which limit, which reason.
fn says_more_than_its_code(error: &UseCaseError) -> bool {
    matches!(
        error,
        UseCaseError::InvalidAccountState { .. }
            | UseCaseError::InvalidWorkerState { .. }
            | UseCaseError::DisputeDecided { .. }
            | UseCaseError::ProposalPending(_)
            | UseCaseError::NotAllowed(_)
            | UseCaseError::NotEligible(_)
            | UseCaseError::CannotAdvance { .. }
            | UseCaseError::RefundDiffers { .. }
            | UseCaseError::RotatedRecently { .. }
            | UseCaseError::TasksOpen { .. }
            | UseCaseError::WorkerTasksOpen { .. }
            | UseCaseError::PayoutsOpen { .. }
            | UseCaseError::TaskLimitExceeded { .. }
            | UseCaseError::PermissionMissing(_)
            | UseCaseError::MandateForbids
            | UseCaseError::TestKeyConfined
            | UseCaseError::ApprovalDecided { .. }
            | UseCaseError::MandateExceeded(_)
            | UseCaseError::TooManyKeys { .. }
            | UseCaseError::TooManyQuotes { .. }
            | UseCaseError::OffsetMismatch { .. }
            | UseCaseError::UploadIncomplete(_)
            | UseCaseError::TooManyUploads { .. }
            | UseCaseError::LastKey { .. }
            | UseCaseError::NoSplit { .. }
            | UseCaseError::ExportUnderWay { .. }
            | UseCaseError::MoneyOwed
            | UseCaseError::TooManyExports { .. }
            | UseCaseError::ProofReviewed
            | UseCaseError::StorageFull { .. }
            | UseCaseError::TooLateToDispute
            | UseCaseError::EmailTaken
            | UseCaseError::WorkerEmailTaken
    )
}

fn use_case_code(error: &UseCaseError) -> ErrorCode {
    match error {
        UseCaseError::Unauthorized => ErrorCode::Unauthorized,
        UseCaseError::AccountSuspended => ErrorCode::AccountSuspended,
        UseCaseError::Forbidden => ErrorCode::Forbidden,
        UseCaseError::AccountNotFound => ErrorCode::AccountNotFound,
        UseCaseError::InvalidAccountState { .. } => ErrorCode::InvalidAccountState,
        UseCaseError::TasksOpen { .. }
        | UseCaseError::MoneyOwed
        | UseCaseError::PayoutsOpen { .. }
        | UseCaseError::WorkerTasksOpen { .. } => ErrorCode::TasksOpen,
        UseCaseError::ExportUnderWay { .. } => ErrorCode::ExportUnderWay,
        UseCaseError::TooManyExports { .. } => ErrorCode::TooManyExports,
        UseCaseError::TaskNotFound => ErrorCode::TaskNotFound,
        UseCaseError::QuoteNotFound => ErrorCode::QuoteNotFound,
        UseCaseError::QuoteExpired => ErrorCode::QuoteExpired,
        UseCaseError::TooManyQuotes { .. } => ErrorCode::TooManyQuotes,
        UseCaseError::ProofNotFound => ErrorCode::ProofNotFound,
        UseCaseError::RefundDiffers { .. } => ErrorCode::RefundDiffers,
        UseCaseError::RotatedRecently { .. } => ErrorCode::RotatedRecently,
        UseCaseError::UploadNotFound => ErrorCode::UploadNotFound,
        UseCaseError::UploadGone => ErrorCode::UploadGone,
        UseCaseError::OffsetMismatch { .. } => ErrorCode::OffsetMismatch,
        UseCaseError::UploadIncomplete(_) => ErrorCode::UploadIncomplete,
        UseCaseError::TooManyUploads { .. } => ErrorCode::TooManyUploads,
        UseCaseError::UploadNameUsed | UseCaseError::KeyUsed => ErrorCode::IdempotencyMismatch,
        UseCaseError::WorkerNotFound => ErrorCode::WorkerNotFound,
        UseCaseError::NotificationNotFound => ErrorCode::NotificationNotFound,
        UseCaseError::ItemNotFound => ErrorCode::ItemNotFound,
        UseCaseError::ItemClaimed => ErrorCode::ItemClaimed,
        UseCaseError::ItemClosed => ErrorCode::ItemClosed,
        UseCaseError::ItemNeedsDecision => ErrorCode::ItemNeedsDecision,
        UseCaseError::ProposalPending(_) => ErrorCode::ProposalPending,
        UseCaseError::ProposalNotFound => ErrorCode::ProposalNotFound,
        UseCaseError::DisputeNotFound => ErrorCode::DisputeNotFound,
        UseCaseError::NoSplit { .. } => ErrorCode::ValidationError,
        UseCaseError::JobNotFound => ErrorCode::JobNotFound,
        UseCaseError::PayoutNotFailed => ErrorCode::PayoutNotFailed,
        UseCaseError::RefundNotFailed => ErrorCode::RefundNotFailed,
        UseCaseError::WrongPassword => ErrorCode::InvalidCredentials,
        UseCaseError::EmailNotConfirmed => ErrorCode::EmailNotConfirmed,
        UseCaseError::WrongCode => ErrorCode::InvalidCode,
        UseCaseError::SecondFactorRequired => ErrorCode::SecondFactorRequired,
        UseCaseError::SecondFactorNotSetUp => ErrorCode::SecondFactorNotSetUp,
        UseCaseError::SecondFactorOn => ErrorCode::SecondFactorOn,
        UseCaseError::SecondFactorOff => ErrorCode::SecondFactorOff,
        UseCaseError::SignInAgain => ErrorCode::SignInAgain,
        UseCaseError::NotEligible(_) => ErrorCode::WorkerNotEligible,
        UseCaseError::InvalidWorkerState { .. } => ErrorCode::InvalidWorkerState,
        UseCaseError::NotAllowed(_)
        | UseCaseError::DisputeDecided { .. }
        | UseCaseError::CannotAdvance { .. }
        | UseCaseError::ProofReviewed
        | UseCaseError::TooLateToDispute => ErrorCode::InvalidTaskState,
        UseCaseError::StorageFull { .. } => ErrorCode::StorageFull,
        UseCaseError::FilesUnavailable(_) => ErrorCode::Unavailable,
        UseCaseError::DeliveryNotFound => ErrorCode::DeliveryNotFound,
        UseCaseError::WebhookNotConfigured => ErrorCode::WebhookNotConfigured,
        UseCaseError::WebhookDisabled => ErrorCode::WebhookDisabled,
        UseCaseError::KeyNotFound => ErrorCode::KeyNotFound,
        UseCaseError::LastOwnerKey => ErrorCode::LastOwnerKey,
        UseCaseError::TooManyKeys { .. } => ErrorCode::TooManyKeys,
        UseCaseError::LastKey { .. } => ErrorCode::LastKey,
        UseCaseError::SessionNotFound => ErrorCode::SessionNotFound,
        UseCaseError::LinkExpired => ErrorCode::LinkExpired,
        UseCaseError::TaskLimitExceeded { .. } => ErrorCode::TaskLimitExceeded,
        UseCaseError::PermissionMissing(_)
        | UseCaseError::MandateForbids
        | UseCaseError::TaskOfAnotherKey
        | UseCaseError::TestKeyConfined => ErrorCode::PermissionDenied,
        UseCaseError::MandatePaused => ErrorCode::MandatePaused,
        UseCaseError::MandateExpired => ErrorCode::MandateExpired,
        UseCaseError::MandateExceeded(_) => ErrorCode::MandateExceeded,
        UseCaseError::MandateNotFound => ErrorCode::MandateNotFound,
        UseCaseError::ApprovalNotFound => ErrorCode::ApprovalNotFound,
        UseCaseError::ApprovalDecided { .. } => ErrorCode::ApprovalDecided,
        UseCaseError::LastUnlimitedKey => ErrorCode::LastUnlimitedKey,
        UseCaseError::Invalid(_) => ErrorCode::ValidationError,
        UseCaseError::EmailTaken | UseCaseError::WorkerEmailTaken => ErrorCode::EmailTaken,
        UseCaseError::PaymentUnavailable(_) => ErrorCode::PaymentUnavailable,
        UseCaseError::Store(
            StoreError::Unavailable(_) | StoreError::Overloaded | StoreError::Collision(_),
        ) => ErrorCode::Unavailable,
        UseCaseError::Store(StoreError::Failed(_) | StoreError::Incompatible(_)) => {
            ErrorCode::Internal
        }
    }
}

/// What a use case says for these, the API says too.
macro_rules! said_by_use_cases {
    ($($error:ty),+) => { $(
        impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                Self::UseCase(error.into())
            }
        }
    )+ };
}

said_by_use_cases!(
    UseCaseError,
    StoreError,
    NotAllowed,
    NotEligible,
    Denied,
    ProcessorError
);

impl From<FilesError> for ApiError {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::TooLarge { limit } => Self::FileTooLarge { limit },
            FilesError::NotFound => Self::NotFound,
            FilesError::Unavailable(reason) => UseCaseError::FilesUnavailable(reason).into(),
        }
    }
}

impl From<TooMany> for ApiError {
    fn from(error: TooMany) -> Self {
        Self::RateLimited {
            retry_after_seconds: error.retry_after_seconds,
        }
    }
}

impl From<HashError> for ApiError {
    fn from(error: HashError) -> Self {
        match error {
            HashError::Busy => Self::Busy,
            HashError::Failed(reason) => StoreError::Failed(reason).into(),
        }
    }
}

impl From<SubmissionError> for ApiError {
    fn from(error: SubmissionError) -> Self {
        match error {
            SubmissionError::Invalid(errors) => Self::Validation(errors.into()),
            SubmissionError::Files(error) => error.into(),
            SubmissionError::UseCase(error) => error.into(),
        }
    }
}

impl IntoResponse for ApiError {
    /// Carries the error to the edge, where it is rendered.
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// An error, as every failed request answers it.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody {
    pub error: ErrorContent,
}

#[derive(Serialize, ToSchema)]
pub struct ErrorContent {
    /// What went wrong, for programs.
    pub code: ErrorCode,
    /// What went wrong, for people.
    #[schema(example = "There is no such task, or it belongs to another account.")]
    pub message: String,
    /// With VALIDATION_ERROR: every field error, up to 100. With REFUND_DIFFERS: the field and what
    /// it must be now. With MANDATE_EXCEEDED: every limit that stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub details: Option<Vec<ErrorDetail>>,
    /// The same as in the X-Request-Id header.
    #[schema(example = "019a8574c1f07c2e9d1b3a5f60718293")]
    pub request_id: String,
}

/// A field and what is wrong with it, or a limit that stands in the way.
#[derive(Serialize, ToSchema)]
#[schema(as = FieldError)]
pub struct ErrorDetail {
    /// Path of the field, such as `location.latitude`; `body` for the whole body.
    #[schema(example = "location.latitude")]
    field: String,
    #[schema(example = "must be between -90 and 90")]
    message: String,
    /// The limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    limit: Option<i64>,
    /// How much of the limit is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    used: Option<i64>,
    /// How much of the limit is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    left: Option<i64>,
}

impl From<FieldError> for ErrorDetail {
    fn from(error: FieldError) -> Self {
        Self {
            field: error.field,
            message: error.message,
            limit: None,
            used: None,
            left: None,
        }
    }
}

impl From<&Refusal> for ErrorDetail {
    fn from(refusal: &Refusal) -> Self {
        Self {
            field: refusal.limit.to_owned(),
            message: refusal.message.clone(),
            limit: refusal.counted.map(|counted| counted.limit),
            used: refusal.counted.map(|counted| counted.used),
            left: refusal.counted.map(|counted| counted.left()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_passwords_at_once_are_no_failure_of_ours() {
        assert_eq!(ApiError::from(HashError::Busy).status(), 503);
        let broken = HashError::Failed("broken".to_owned());
        assert_eq!(ApiError::from(broken).status(), 500);
    }
}
