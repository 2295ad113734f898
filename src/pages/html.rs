//! Renders templates. The outermost layer of the API adds the headers that every page has.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};

use super::Pages;
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
    banner: bool,
    heading: &'a str,
    text: &'a str,
}

impl Pages {
    pub fn message(&self, status: StatusCode, heading: &str, text: &str) -> Response {
        let banner = self.banner();
        page(
            status,
            &Message {
                banner,
                heading,
                text,
            },
        )
    }

    pub fn not_found(&self) -> Response {
        let text = "The link is wrong or belongs to another server.";
        self.message(StatusCode::NOT_FOUND, "Page not found", text)
    }

    /// For the sandbox's pages on a server with a real processor.
    pub fn no_sandbox(&self) -> Response {
        let text = "This server uses a real payment processor. You cannot pay on this page.";
        self.message(StatusCode::NOT_FOUND, "Page not found", text)
    }

    pub fn unavailable(&self, error: &ProcessorError) -> Response {
        tracing::warn!(%error, "page unavailable");
        let text = "Nothing was changed. Please try again in a moment.";
        self.message(
            StatusCode::SERVICE_UNAVAILABLE,
            "Temporarily unavailable",
            text,
        )
    }
}
