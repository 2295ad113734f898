//! Every way a request can fail: the only place that knows status codes and error codes.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::JSON;
use crate::domain::FieldError;
use crate::files::FilesError;
use crate::store::StoreError;
use crate::submission::SubmissionError;
use crate::usecases::UseCaseError;

/// At most this many faults are told of one request.
const MAX_FAULTS: usize = 100;

#[derive(Clone, Debug)]
pub enum ApiError {
    Validation(Vec<FieldError>),
    BodyTooLarge {
        limit: usize,
    },
    BodyTimeout,
    NotFound,
    MethodNotAllowed,
    RateLimited {
        retry_after_seconds: u64,
    },
    IdempotencyMismatch,
    IdempotencyInFlight,
    /// Asked with a live key what only the world of test can do.
    TestModeOnly,
    FileTooLarge {
        limit: u64,
    },
    UrlExpired,
    UrlInvalid,
    UseCase(UseCaseError),
    Panicked,
}

impl ApiError {
    pub fn invalid(field: &str, message: &str) -> Self {
        Self::Validation(vec![FieldError::new(field, message)])
    }

    pub fn status(&self) -> StatusCode {
        self.kind().0
    }

    fn kind(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Validation(_) => (StatusCode::BAD_REQUEST, "VALIDATION_ERROR"),
            Self::BodyTooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE"),
            Self::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT"),
            Self::NotFound => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED"),
            Self::RateLimited { .. } => (StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED"),
            Self::IdempotencyMismatch => (StatusCode::UNPROCESSABLE_ENTITY, "IDEMPOTENCY_MISMATCH"),
            Self::IdempotencyInFlight => (StatusCode::CONFLICT, "IDEMPOTENCY_IN_FLIGHT"),
            Self::TestModeOnly => (StatusCode::FORBIDDEN, "TEST_MODE_ONLY"),
            Self::FileTooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "FILE_TOO_LARGE"),
            Self::UrlExpired => (StatusCode::FORBIDDEN, "URL_EXPIRED"),
            Self::UrlInvalid => (StatusCode::FORBIDDEN, "URL_INVALID"),
            Self::UseCase(refusal) => refusal_kind(refusal),
            Self::Panicked => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Validation(faults) => match faults.as_slice() {
                [fault] => format!("{} {}", fault.field, fault.message),
                faults => format!("the request has {} faults", faults.len()),
            },
            Self::BodyTooLarge { limit } => format!("the body must be at most {limit} bytes"),
            Self::BodyTimeout => "the body did not arrive in time".to_owned(),
            Self::NotFound => "there is nothing at this path".to_owned(),
            Self::MethodNotAllowed => "this path does not take this method".to_owned(),
            Self::RateLimited {
                retry_after_seconds,
            } => format!("too many requests: try again in {retry_after_seconds} s"),
            Self::IdempotencyMismatch => {
                "this Idempotency-Key was used for another request".to_owned()
            }
            Self::IdempotencyInFlight => {
                "a request with this Idempotency-Key is still in flight".to_owned()
            }
            Self::TestModeOnly => "this works with a test key only".to_owned(),
            Self::FileTooLarge { limit } => format!("the file must be at most {limit} bytes"),
            Self::UrlExpired => "the URL has expired; list the proofs again".to_owned(),
            Self::UrlInvalid => "the URL is not one of ours".to_owned(),
            Self::UseCase(refusal) => refusal_message(refusal),
            Self::Panicked => INTERNAL_MESSAGE.to_owned(),
        }
    }

    /// What a log may say of a failure that the caller is not told about.
    pub fn cause(&self) -> Option<String> {
        match self {
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
        let (status, code) = self.kind();
        let details = match self {
            Self::Validation(faults) => Some(&faults[..faults.len().min(MAX_FAULTS)]),
            _ => None,
        };
        let body = serde_json::json!({ "error": ErrorContent {
            code,
            message: self.message(),
            details: details.map(<[FieldError]>::to_vec),
            request_id: request_id.to_owned(),
        }});
        let json = (header::CONTENT_TYPE, JSON);
        let mut response = (status, [json], body.to_string()).into_response();
        self.add_headers(response.headers_mut());
        response
    }

    fn add_headers(&self, headers: &mut axum::http::HeaderMap) {
        match self {
            Self::UseCase(UseCaseError::Unauthorized) => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::RateLimited {
                retry_after_seconds,
            } => {
                headers.insert(header::RETRY_AFTER, (*retry_after_seconds).into());
            }
            _ if self.status() == StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
    }
}

/// Whether a write was kept is not known when the connection broke while it was committed.
const UNAVAILABLE_MESSAGE: &str = "the service cannot do this right now; try again, with the same Idempotency-Key if you sent one";
const INTERNAL_MESSAGE: &str =
    "something went wrong on our side; tell us the request id if it goes on";

fn refusal_kind(refusal: &UseCaseError) -> (StatusCode, &'static str) {
    match refusal {
        UseCaseError::Unauthorized => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
        UseCaseError::AccountSuspended => (StatusCode::FORBIDDEN, "ACCOUNT_SUSPENDED"),
        UseCaseError::Forbidden => (StatusCode::FORBIDDEN, "FORBIDDEN"),
        UseCaseError::AccountNotFound => (StatusCode::NOT_FOUND, "ACCOUNT_NOT_FOUND"),
        UseCaseError::InvalidAccountState { .. } => (StatusCode::CONFLICT, "INVALID_ACCOUNT_STATE"),
        UseCaseError::TasksOpen { .. } | UseCaseError::MoneyOwed => {
            (StatusCode::CONFLICT, "TASKS_OPEN")
        }
        UseCaseError::TaskNotFound => (StatusCode::NOT_FOUND, "TASK_NOT_FOUND"),
        UseCaseError::ProofNotFound => (StatusCode::NOT_FOUND, "PROOF_NOT_FOUND"),
        UseCaseError::WorkerNotFound => (StatusCode::NOT_FOUND, "WORKER_NOT_FOUND"),
        UseCaseError::ItemNotFound => (StatusCode::NOT_FOUND, "ITEM_NOT_FOUND"),
        UseCaseError::ItemClaimed => (StatusCode::CONFLICT, "ITEM_CLAIMED"),
        UseCaseError::ItemClosed => (StatusCode::CONFLICT, "ITEM_CLOSED"),
        UseCaseError::DisputeNotFound => (StatusCode::NOT_FOUND, "DISPUTE_NOT_FOUND"),
        UseCaseError::NoSplit { .. } => (StatusCode::BAD_REQUEST, "VALIDATION_ERROR"),
        UseCaseError::JobNotFound => (StatusCode::NOT_FOUND, "JOB_NOT_FOUND"),
        UseCaseError::PayoutNotFailed => (StatusCode::CONFLICT, "PAYOUT_NOT_FAILED"),
        UseCaseError::WrongPassword => (StatusCode::UNAUTHORIZED, "INVALID_CREDENTIALS"),
        UseCaseError::NotEligible(_) => (StatusCode::FORBIDDEN, "WORKER_NOT_ELIGIBLE"),
        UseCaseError::InvalidWorkerState { .. } => (StatusCode::CONFLICT, "INVALID_WORKER_STATE"),
        UseCaseError::ProofReviewed | UseCaseError::TooLateToDispute => {
            (StatusCode::CONFLICT, "INVALID_TASK_STATE")
        }
        UseCaseError::FilesUnavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
        UseCaseError::DeliveryNotFound => (StatusCode::NOT_FOUND, "DELIVERY_NOT_FOUND"),
        UseCaseError::WebhookNotConfigured => (StatusCode::CONFLICT, "WEBHOOK_NOT_CONFIGURED"),
        UseCaseError::WebhookDisabled => (StatusCode::CONFLICT, "WEBHOOK_DISABLED"),
        UseCaseError::KeyNotFound => (StatusCode::NOT_FOUND, "KEY_NOT_FOUND"),
        UseCaseError::TaskLimitExceeded { .. } => (StatusCode::FORBIDDEN, "TASK_LIMIT_EXCEEDED"),
        UseCaseError::EmailTaken | UseCaseError::WorkerEmailTaken => {
            (StatusCode::CONFLICT, "EMAIL_TAKEN")
        }
        UseCaseError::PaymentUnavailable(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "PAYMENT_UNAVAILABLE")
        }
        UseCaseError::NotAllowed(_) => (StatusCode::CONFLICT, "INVALID_TASK_STATE"),
        UseCaseError::Store(StoreError::Unavailable(_) | StoreError::Collision(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE")
        }
        UseCaseError::Store(StoreError::Failed(_) | StoreError::Incompatible(_)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL")
        }
    }
}

fn refusal_message(refusal: &UseCaseError) -> String {
    match refusal {
        UseCaseError::Store(StoreError::Unavailable(_) | StoreError::Collision(_)) => {
            UNAVAILABLE_MESSAGE.to_owned()
        }
        UseCaseError::Store(_) => INTERNAL_MESSAGE.to_owned(),
        refusal => refusal.to_string(),
    }
}

impl<R: Into<UseCaseError>> From<R> for ApiError {
    fn from(refusal: R) -> Self {
        Self::UseCase(refusal.into())
    }
}

impl From<FilesError> for ApiError {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::TooLarge { limit } => Self::FileTooLarge { limit },
            FilesError::NotFound => Self::NotFound,
            FilesError::Unavailable(reason) => UseCaseError::FilesUnavailable(reason).into(),
        }
    }
}

impl From<SubmissionError> for ApiError {
    fn from(error: SubmissionError) -> Self {
        match error {
            SubmissionError::Invalid(errors) => Self::Validation(errors),
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
pub struct ErrorBody {
    pub error: ErrorContent,
}

#[derive(Serialize, ToSchema)]
pub struct ErrorContent {
    /// What went wrong, for programs.
    #[schema(example = "TASK_NOT_FOUND")]
    pub code: &'static str,
    /// What went wrong, for people.
    #[schema(example = "no such task")]
    pub message: String,
    /// With VALIDATION_ERROR only: every fault found.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub details: Option<Vec<FieldError>>,
    /// The same as in the X-Request-Id header.
    #[schema(example = "019a8574c1f07c2e9d1b3a5f60718293")]
    pub request_id: String,
}
