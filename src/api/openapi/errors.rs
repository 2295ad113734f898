//! The errors that operations share, as the description tells of them.

use std::collections::BTreeMap;

use serde_json::json;
use utoipa::IntoResponses;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

type Responses = BTreeMap<String, RefOr<Response>>;

fn response(status: u16, code: &str, message: &str) -> (String, RefOr<Response>) {
    let example = json!({"error": {"code": code, "message": message,
        "request_id": "019a8574c1f07c2e9d1b3a5f60718293"}});
    with_example(status, code, example)
}

fn with_example(status: u16, code: &str, example: serde_json::Value) -> (String, RefOr<Response>) {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("ErrorBody")))
        .example(Some(example))
        .build();
    let response = ResponseBuilder::new()
        .description(code)
        .content("application/json", content)
        .build();
    (status.to_string(), response.into())
}

/// A request with a key can always get these.
pub struct Common;

impl IntoResponses for Common {
    fn responses() -> Responses {
        BTreeMap::from([
            response(
                401,
                "UNAUTHORIZED",
                "the API key is missing, malformed, unknown or revoked",
            ),
            response(403, "ACCOUNT_SUSPENDED", "the account is suspended"),
            response(429, "RATE_LIMITED", "too many requests: try again in 2 s"),
            response(
                500,
                "INTERNAL",
                "something went wrong on our side; tell us the request id if it goes on",
            ),
            response(
                503,
                "UNAVAILABLE",
                "the service cannot do this right now; try again, \
                 with the same Idempotency-Key if you sent one",
            ),
        ])
    }
}

/// A request with an admin key can always get these.
pub struct Admin;

impl IntoResponses for Admin {
    fn responses() -> Responses {
        let mut responses = Common::responses();
        responses.extend([response(
            403,
            "FORBIDDEN",
            "the role of this admin key does not allow it",
        )]);
        responses
    }
}

fn faults(field: &str, message: &str) -> (String, RefOr<Response>) {
    let example = json!({"error": {"code": "VALIDATION_ERROR",
        "message": format!("{field} {message}"),
        "details": [{"field": field, "message": message}],
        "request_id": "019a8574c1f07c2e9d1b3a5f60718293"}});
    with_example(400, "VALIDATION_ERROR", example)
}

pub struct Body;

impl IntoResponses for Body {
    fn responses() -> Responses {
        BTreeMap::from([
            faults("location.latitude", "must be between -90 and 90"),
            response(408, "REQUEST_TIMEOUT", "the body did not arrive in time"),
            response(
                413,
                "PAYLOAD_TOO_LARGE",
                "the body must be at most 262144 bytes",
            ),
        ])
    }
}

pub struct Query;

impl IntoResponses for Query {
    fn responses() -> Responses {
        BTreeMap::from([faults("limit", "must be at least 1")])
    }
}

pub struct Idempotency;

impl IntoResponses for Idempotency {
    fn responses() -> Responses {
        BTreeMap::from([
            response(
                409,
                "IDEMPOTENCY_IN_FLIGHT",
                "a request with this Idempotency-Key is still in flight",
            ),
            response(
                422,
                "IDEMPOTENCY_MISMATCH",
                "this Idempotency-Key was used for another request",
            ),
        ])
    }
}

pub struct PaymentUnavailable;

impl IntoResponses for PaymentUnavailable {
    fn responses() -> Responses {
        BTreeMap::from([response(
            503,
            "PAYMENT_UNAVAILABLE or UNAVAILABLE",
            "payments cannot be made right now; try again later",
        )])
    }
}

pub struct ProofNotFound;

impl IntoResponses for ProofNotFound {
    fn responses() -> Responses {
        let codes = "TASK_NOT_FOUND or PROOF_NOT_FOUND";
        BTreeMap::from([response(404, codes, "no such proof")])
    }
}

pub struct WorkerNotFound;

impl IntoResponses for WorkerNotFound {
    fn responses() -> Responses {
        BTreeMap::from([response(404, "WORKER_NOT_FOUND", "no such worker")])
    }
}

pub struct ItemNotFound;

impl IntoResponses for ItemNotFound {
    fn responses() -> Responses {
        BTreeMap::from([response(404, "ITEM_NOT_FOUND", "no such item")])
    }
}

pub struct InvalidWorkerState;

impl IntoResponses for InvalidWorkerState {
    fn responses() -> Responses {
        BTreeMap::from([response(
            409,
            "INVALID_WORKER_STATE",
            "a worker who is verified cannot be verified",
        )])
    }
}

pub struct TasksOpen;

impl IntoResponses for TasksOpen {
    fn responses() -> Responses {
        let message = "2 tasks of the account are not over yet";
        BTreeMap::from([response(409, "TASKS_OPEN", message)])
    }
}

pub struct TestModeOnly;

impl IntoResponses for TestModeOnly {
    fn responses() -> Responses {
        BTreeMap::from([response(
            403,
            "TEST_MODE_ONLY or ACCOUNT_SUSPENDED",
            "this works with a test key only",
        )])
    }
}

pub struct EmailTaken;

impl IntoResponses for EmailTaken {
    fn responses() -> Responses {
        BTreeMap::from([response(
            409,
            "EMAIL_TAKEN",
            "a worker with this e-mail address exists already",
        )])
    }
}

pub struct NotEligible;

impl IntoResponses for NotEligible {
    fn responses() -> Responses {
        BTreeMap::from([response(
            403,
            "WORKER_NOT_ELIGIBLE or ACCOUNT_SUSPENDED",
            "the worker's payout account is not ready",
        )])
    }
}

pub struct TaskLimit;

impl IntoResponses for TaskLimit {
    fn responses() -> Responses {
        BTreeMap::from([response(
            403,
            "TASK_LIMIT_EXCEEDED or ACCOUNT_SUSPENDED",
            "the limit of 100 tasks a month is reached",
        )])
    }
}

pub struct TaskNotFound;

impl IntoResponses for TaskNotFound {
    fn responses() -> Responses {
        BTreeMap::from([response(404, "TASK_NOT_FOUND", "no such task")])
    }
}

pub struct KeyNotFound;

impl IntoResponses for KeyNotFound {
    fn responses() -> Responses {
        BTreeMap::from([response(404, "KEY_NOT_FOUND", "no such API key")])
    }
}

pub struct InvalidTaskState;

impl IntoResponses for InvalidTaskState {
    fn responses() -> Responses {
        BTreeMap::from([response(
            409,
            "INVALID_TASK_STATE",
            "a task that is funded cannot be updated",
        )])
    }
}

pub struct InvalidTaskStateOrInFlight;

impl IntoResponses for InvalidTaskStateOrInFlight {
    fn responses() -> Responses {
        BTreeMap::from([response(
            409,
            "INVALID_TASK_STATE or IDEMPOTENCY_IN_FLIGHT",
            "a task that is in_progress cannot be cancelled",
        )])
    }
}

pub struct DeliveryNotFound;

impl IntoResponses for DeliveryNotFound {
    fn responses() -> Responses {
        BTreeMap::from([response(404, "DELIVERY_NOT_FOUND", "no such delivery")])
    }
}

pub struct WebhookNotConfigured;

impl IntoResponses for WebhookNotConfigured {
    fn responses() -> Responses {
        BTreeMap::from([response(
            409,
            "WEBHOOK_NOT_CONFIGURED",
            "no webhook is configured",
        )])
    }
}

pub struct ItemClaimed;

impl IntoResponses for ItemClaimed {
    fn responses() -> Responses {
        BTreeMap::from([response(
            409,
            "ITEM_CLAIMED or ITEM_CLOSED",
            "another admin is working on this item",
        )])
    }
}

pub struct AccountNotFound;

impl IntoResponses for AccountNotFound {
    fn responses() -> Responses {
        BTreeMap::from([response(404, "ACCOUNT_NOT_FOUND", "no such account")])
    }
}

pub struct InvalidAccountState;

impl IntoResponses for InvalidAccountState {
    fn responses() -> Responses {
        BTreeMap::from([response(
            409,
            "INVALID_ACCOUNT_STATE",
            "an account that is active cannot be restored",
        )])
    }
}

pub struct DisputeNotFound;

impl IntoResponses for DisputeNotFound {
    fn responses() -> Responses {
        BTreeMap::from([response(
            404,
            "TASK_NOT_FOUND or DISPUTE_NOT_FOUND",
            "there was no dispute about this task",
        )])
    }
}

pub struct UndecidableDispute;

impl IntoResponses for UndecidableDispute {
    fn responses() -> Responses {
        BTreeMap::from([response(
            409,
            "INVALID_TASK_STATE or ITEM_CLAIMED",
            "a task that is completed cannot be decided",
        )])
    }
}

pub struct JobNotFound;

impl IntoResponses for JobNotFound {
    fn responses() -> Responses {
        BTreeMap::from([response(404, "JOB_NOT_FOUND", "no such job was given up")])
    }
}

pub struct PayoutNotFailed;

impl IntoResponses for PayoutNotFailed {
    fn responses() -> Responses {
        BTreeMap::from([response(
            409,
            "PAYOUT_NOT_FAILED or ITEM_CLAIMED",
            "no payout for this task was given up",
        )])
    }
}

pub struct UndecidableWorker;

impl IntoResponses for UndecidableWorker {
    fn responses() -> Responses {
        BTreeMap::from([response(
            409,
            "INVALID_WORKER_STATE or ITEM_CLAIMED",
            "a worker who is verified cannot be verified",
        )])
    }
}
