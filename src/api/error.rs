//! Every way a request can fail: the only place that knows status codes and error codes.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::Fault;
use crate::store::StoreError;
use crate::usecases::Refusal;

/// At most this many faults are told of one request.
const MAX_FAULTS: usize = 100;

#[derive(Clone, Debug)]
pub enum ApiError {
    Validation(Vec<Fault>),
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
    Refused(Refusal),
    Panicked,
}

impl ApiError {
    pub fn invalid(field: &str, message: &str) -> Self {
        Self::Validation(vec![Fault::new(field, message)])
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
            Self::Refused(refusal) => refusal_kind(refusal),
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
            Self::Refused(refusal) => refusal_message(refusal),
            Self::Panicked => INTERNAL_MESSAGE.to_owned(),
        }
    }

    /// What a log may say of a failure that the caller is not told about.
    pub fn cause(&self) -> Option<String> {
        match self {
            Self::Refused(Refusal::Store(error)) => Some(error.to_string()),
            Self::Refused(
                Refusal::PaymentUnavailable(reason) | Refusal::FilesUnavailable(reason),
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
            details: details.map(<[Fault]>::to_vec),
            request_id: request_id.to_owned(),
        }});
        let json = (header::CONTENT_TYPE, super::answer::JSON);
        let mut response = (status, [json], body.to_string()).into_response();
        self.add_headers(response.headers_mut());
        response
    }

    fn add_headers(&self, headers: &mut axum::http::HeaderMap) {
        match self {
            Self::Refused(Refusal::Unauthorized) => {
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

fn refusal_kind(refusal: &Refusal) -> (StatusCode, &'static str) {
    match refusal {
        Refusal::Unauthorized => (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
        Refusal::AccountSuspended => (StatusCode::FORBIDDEN, "ACCOUNT_SUSPENDED"),
        Refusal::Forbidden => (StatusCode::FORBIDDEN, "FORBIDDEN"),
        Refusal::AccountNotFound => (StatusCode::NOT_FOUND, "ACCOUNT_NOT_FOUND"),
        Refusal::InvalidAccountState { .. } => (StatusCode::CONFLICT, "INVALID_ACCOUNT_STATE"),
        Refusal::TasksOpen { .. } | Refusal::MoneyOwed => (StatusCode::CONFLICT, "TASKS_OPEN"),
        Refusal::TaskNotFound => (StatusCode::NOT_FOUND, "TASK_NOT_FOUND"),
        Refusal::ProofNotFound => (StatusCode::NOT_FOUND, "PROOF_NOT_FOUND"),
        Refusal::WorkerNotFound => (StatusCode::NOT_FOUND, "WORKER_NOT_FOUND"),
        Refusal::ItemNotFound => (StatusCode::NOT_FOUND, "ITEM_NOT_FOUND"),
        Refusal::ItemClaimed => (StatusCode::CONFLICT, "ITEM_CLAIMED"),
        Refusal::ItemClosed => (StatusCode::CONFLICT, "ITEM_CLOSED"),
        Refusal::DisputeNotFound => (StatusCode::NOT_FOUND, "DISPUTE_NOT_FOUND"),
        Refusal::NoSplit { .. } => (StatusCode::BAD_REQUEST, "VALIDATION_ERROR"),
        Refusal::JobNotFound => (StatusCode::NOT_FOUND, "JOB_NOT_FOUND"),
        Refusal::PayoutNotFailed => (StatusCode::CONFLICT, "PAYOUT_NOT_FAILED"),
        Refusal::WrongPassword => (StatusCode::UNAUTHORIZED, "INVALID_CREDENTIALS"),
        Refusal::NotEligible(_) => (StatusCode::FORBIDDEN, "WORKER_NOT_ELIGIBLE"),
        Refusal::InvalidWorkerState { .. } => (StatusCode::CONFLICT, "INVALID_WORKER_STATE"),
        Refusal::ProofReviewed | Refusal::TooLateToDispute => {
            (StatusCode::CONFLICT, "INVALID_TASK_STATE")
        }
        Refusal::FilesUnavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
        Refusal::DeliveryNotFound => (StatusCode::NOT_FOUND, "DELIVERY_NOT_FOUND"),
        Refusal::WebhookNotConfigured => (StatusCode::CONFLICT, "WEBHOOK_NOT_CONFIGURED"),
        Refusal::WebhookDisabled => (StatusCode::CONFLICT, "WEBHOOK_DISABLED"),
        Refusal::KeyNotFound => (StatusCode::NOT_FOUND, "KEY_NOT_FOUND"),
        Refusal::TaskLimitExceeded { .. } => (StatusCode::FORBIDDEN, "TASK_LIMIT_EXCEEDED"),
        Refusal::EmailTaken | Refusal::WorkerEmailTaken => (StatusCode::CONFLICT, "EMAIL_TAKEN"),
        Refusal::PaymentUnavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "PAYMENT_UNAVAILABLE"),
        Refusal::NotAllowed(_) => (StatusCode::CONFLICT, "INVALID_TASK_STATE"),
        Refusal::Store(StoreError::Unavailable(_) | StoreError::Collision(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE")
        }
        Refusal::Store(StoreError::Failed(_) | StoreError::Incompatible(_)) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL")
        }
    }
}

fn refusal_message(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Store(StoreError::Unavailable(_) | StoreError::Collision(_)) => {
            UNAVAILABLE_MESSAGE.to_owned()
        }
        Refusal::Store(_) => INTERNAL_MESSAGE.to_owned(),
        refusal => refusal.to_string(),
    }
}

impl<R: Into<Refusal>> From<R> for ApiError {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
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
    pub details: Option<Vec<Fault>>,
    /// The same as in the X-Request-Id header.
    #[schema(example = "019a8574c1f07c2e9d1b3a5f60718293")]
    pub request_id: String,
}
