//! Renders templates, with headers that prevent framing and caching of a page.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use crate::payments::ProcessorError;

const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub fn page(status: StatusCode, template: &impl Template) -> Response {
    let Ok(text) = template.render() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (status, headers, Html(text)).into_response()
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
