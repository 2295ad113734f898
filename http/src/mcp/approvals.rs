//! A person's yes, asked for by URL: the person signs in there and decides. The agent learns nothing but that they were asked.

use std::time::Duration;

use http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, CallToolResult, ElicitRequest, ElicitRequestParams, InputRequest,
    InputRequiredResult, ProtocolVersion, ServerRequest,
};
use rmcp::service::RequestContext;
use serde_json::Value;

/// Clients give up after a minute.
const LONGEST_QUESTION: Duration = Duration::from_secs(50);
const QUESTION: &str = "approval";

/// What a created task waits for, if it does.
fn question(result: &CallToolResult) -> Option<ElicitRequestParams> {
    let task = result.structured_content.as_ref()?;
    let approval = &task["approval"];
    if approval["status"] != "waiting" {
        return None;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cents = approval["budget_cents"].as_i64().unwrap_or_default();
    Some(ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: format!(
            "Your agent wants to spend ${}.{:02} on \"{}\". Open the page to agree or refuse.",
            cents / 100,
            cents % 100,
            text(&task["title"])
        ),
        url: text(&approval["url"]),
        elicitation_id: text(&approval["task_id"]),
    })
}

/// Asks through the client, where it can show URLs to a person. Otherwise the answer has the link.
pub async fn ask(
    result: CallToolResult,
    was_asked: bool,
    context: &RequestContext<RoleServer>,
) -> CallToolResponse {
    let capabilities = context.client_capabilities();
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
    let shows_urls = elicitation.is_some_and(|elicitation| elicitation.url.is_some());
    let Some(question) = question(&result).filter(|_| shows_urls && !was_asked) else {
        return result.into();
    };
    let is_new = context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    if is_new {
        let question = InputRequest::Elicitation(ElicitRequest::new(question));
        let questions = [(QUESTION.to_owned(), question)].into();
        return InputRequiredResult::from_input_requests(questions).into();
    }
    // Older clients are asked while they wait. Over HTTP there is no session to ask in.
    if context.extensions.get::<Parts>().is_none() {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(question));
        let asked = context.peer.send_request(request);
        tokio::select! {
            _ = tokio::time::timeout(LONGEST_QUESTION, asked) => {}
            () = context.ct.cancelled() => {}
        }
    }
    result.into()
}
