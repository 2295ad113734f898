//! Renders templates. The outermost layer of the API adds the headers that every page has.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};

use crate::payments::ProcessorError;

pub fn page(status: StatusCode, template: &impl Template) -> Response {
    let Ok(text) = template.render() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    (status, Html(text)).into_response()
}

#[derive(Template)]
#[template(path = "message.html")]
struct Message<'a> {
    heading: &'a str,
    text: &'a str,
}

pub fn message(status: StatusCode, heading: &str, text: &str) -> Response {
    page(status, &Message { heading, text })
}

pub fn not_found() -> Response {
    let text = "The link is wrong or belongs to another server.";
    message(StatusCode::NOT_FOUND, "Page not found", text)
}

/// For the sandbox's pages on a server with a real processor.
pub fn no_sandbox() -> Response {
    let text = "This server uses a real payment processor. You cannot pay on this page.";
    message(StatusCode::NOT_FOUND, "Page not found", text)
}

pub fn unavailable(error: &ProcessorError) -> Response {
    tracing::warn!(%error, "page unavailable");
    let text = "Nothing was changed. Please try again in a moment.";
    message(
        StatusCode::SERVICE_UNAVAILABLE,
        "Temporarily unavailable",
        text,
    )
}
