//! Errors, as an agent gets to see them.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// Whether the API has no such thing. Any other failure says nothing about what there is.
pub fn is_not_found(error: &Value) -> bool {
    let code = error["code"].as_str();
    code.is_some_and(|code| code.ends_with("NOT_FOUND"))
}

/// Whether the same may be answered in a moment.
pub fn is_passing(error: &Value) -> bool {
    matches!(
        error["code"].as_str(),
        Some("RATE_LIMITED" | "UNAVAILABLE" | "UNREACHABLE")
    )
}

/// Why a request of the protocol failed that is not the call of a tool.
pub fn failed(error: &Value) -> ErrorData {
    let message = error["message"].as_str();
    let message = message.unwrap_or("the server did not answer").to_owned();
    ErrorData::internal_error(message, Some(error.clone()))
}

/// An error that an agent can act on: the code, what is wrong, and what to do.
pub fn refused(error: &Value) -> CallToolResult {
    let mut told = error.clone();
    let next = match error["code"].as_str().unwrap_or_default() {
        "VALIDATION_ERROR" => "Correct the named fields and call again.",
        "QUOTE_EXPIRED" | "QUOTE_NOT_FOUND" => "Ask for a new quote with quote_task.",
        "MANDATE_EXCEEDED" | "PERMISSION_DENIED" => {
            "Your key does not allow this. Tell the person you work for; get_mandate says what is left."
        }
        "TASK_NOT_FOUND" => "Check the id: list_tasks names your tasks.",
        "PROOF_NOT_FOUND" => "Check the id: get_proofs names the proofs of a task.",
        "TOO_MANY_QUOTES" => {
            "Redeem a quote that you have with create_task, or wait until the oldest expires: 15 minutes at most."
        }
        "TASK_LIMIT_EXCEEDED" => {
            "No more tasks can be created this month. Tell the person you work for."
        }
        "TEST_MODE_ONLY" => "This needs a test key: nothing can be done about it with yours.",
        "UNAUTHORIZED" | "ACCOUNT_SUSPENDED" => {
            "Your key does not work any more. Tell the person you work for."
        }
        "PAYLOAD_TOO_LARGE" => "Shorten the texts, and call again.",
        "INVALID_TASK_STATE" => {
            "Look at the task with get_task: it is in another status, or waits for a person: then it has `approval`."
        }
        "REFUND_DIFFERS" => {
            "Look at the task again, then decide whether to cancel for what would come back."
        }
        "MANDATE_PAUSED" | "MANDATE_EXPIRED" => {
            "Your key may do nothing for now. Tell the person you work for."
        }
        "RATE_LIMITED" | "UNAVAILABLE" | "UNREACHABLE" => "Wait a little and call again.",
        _ => "",
    };
    if !next.is_empty() {
        told["what_to_do"] = json!(next);
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(told.to_string())]);
    result.structured_content = None;
    result
}
