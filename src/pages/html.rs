//! Templates on their way out, with headers that keep others from framing or reading a page.

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
    let text = "The link is wrong, or belongs to another server.";
    message(StatusCode::NOT_FOUND, "There is nothing here", text)
}

/// The sandbox's pages, asked of a server that works with a real processor.
pub fn no_sandbox() -> Response {
    let text =
        "This server takes payments through a real payment processor, not through this page.";
    message(StatusCode::NOT_FOUND, "There is nothing here", text)
}

pub fn unavailable(error: &ProcessorError) -> Response {
    tracing::warn!(%error, "a page cannot be served");
    let text = "Nothing has happened. Please try again in a moment.";
    message(
        StatusCode::SERVICE_UNAVAILABLE,
        "Not possible right now",
        text,
    )
}
