//! Renders templates. The outermost layer of the API adds the headers that every page has.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use memchr::memmem;

use crate::api::inside::{Incoming, Refused};
use crate::pages::kit::form::told;
use crate::pages::kit::whose::marked;
use crate::pages::state::Pages;
use crate::payments::ProcessorError;

pub fn page(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => (status, Html(marked(told_first(text)))).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// How what is wrong with a form begins in the template. Texts of people are escaped, so nothing else begins like it.
const PROBLEM: &str = "<div class=\"bad\" role=\"alert\" tabindex=\"-1\" autofocus>";

const WRONG: &str = "<a class=\"wrong tap\" href=\"#";

/// What is wrong with a form stands in the title, which a voice reads first; both languages have the word. Each link to a
/// field begins with its label, which only the finished page has.
fn told_first(page: String) -> String {
    if memmem::find(page.as_bytes(), PROBLEM.as_bytes()).is_none() {
        return page;
    }
    let mut told = String::with_capacity(page.len() + 256);
    let mut parts = page.split(WRONG);
    let before = parts.next().unwrap_or_default();
    told.push_str(&before.replacen("<title>", "<title>Error: ", 1));
    for part in parts {
        let (name, after) = part.split_once("\">").unwrap_or((part, ""));
        told.extend([WRONG, name, "\">"]);
        if let Some(label) = label(&page, name) {
            told.extend([label.trim_end(), ": "]);
        }
        told.push_str(after);
    }
    told
}

/// What a field, or a group of boxes, is called on a page. A group may be folded up.
fn label<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let field = page.split_once(&format!("<label for=\"{name}\">"));
    let group = |tag: &str, title: &str| {
        let (_, group) = page.split_once(&format!("<{tag} id=\"{name}\""))?;
        group.split_once(title)
    };
    let found = field.or_else(|| group("fieldset", "<legend>"));
    let found = found.or_else(|| group("details", "<summary>"));
    found?.1.split('<').next()
}

/// The same with 200.
pub fn ok(template: &impl Template) -> Response {
    page(StatusCode::OK, template)
}

#[derive(Template)]
#[template(path = "kit/message.html")]
struct Message<'a> {
    banner: bool,
    heading: &'a str,
    text: &'a str,
    /// The code and the request id, for whoever helps.
    code: &'a str,
    request_id: &'a str,
    /// Where to go from here.
    links: &'a [(&'a str, &'a str)],
    /// For whom the session is all that is left.
    sign_out: bool,
}

/// A page that says one thing.
pub fn message(pages: &Pages, status: StatusCode, heading: &str, text: &str) -> Response {
    message_with(pages, status, (heading, text), &[])
}

/// The same, and where to go from here.
pub fn message_with(
    pages: &Pages,
    status: StatusCode,
    (heading, text): (&str, &str),
    links: &[(&str, &str)],
) -> Response {
    plain_message(pages.banner(), status, (heading, text), links)
}

/// The same, where only the banner is known.
pub fn plain_message(
    banner: bool,
    status: StatusCode,
    (heading, text): (&str, &str),
    links: &[(&str, &str)],
) -> Response {
    let told = Message {
        banner,
        heading,
        text,
        code: "",
        request_id: "",
        links,
        sign_out: false,
    };
    page(status, &told)
}

const HOME: (&str, &str) = ("/", "Front page");

/// Tells people of an error, wherever it happened.
pub fn error_page(refused: &Refused, incoming: &Incoming) -> Response {
    let text = told(refused);
    let suspended = refused.is("ACCOUNT_SUSPENDED");
    let (heading, text) = match refused.status {
        _ if refused.is("NOT_FOUND") => (
            "Page not found",
            "There is nothing at this address. The link may be old or mistyped.".to_owned(),
        ),
        _ if suspended => (
            "Your account is suspended",
            "Its pages and keys do not work until it is restored. Ask the operator of this service why.".to_owned(),
        ),
        StatusCode::NOT_FOUND => ("Not found", text),
        StatusCode::TOO_MANY_REQUESTS => ("Too many requests", text),
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => ("Not allowed", text),
        StatusCode::CONFLICT => ("This cannot be done now", text),
        status if status.is_server_error() => ("Something went wrong on our side", text),
        _ => ("This did not work", text),
    };
    let told = Message {
        banner: false,
        heading,
        text: &text,
        code: &refused.code,
        request_id: incoming.request_id(),
        links: &[HOME],
        sign_out: suspended,
    };
    let mut response = page(refused.status, &told);
    if let Some(seconds) = refused.retry_after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

pub fn not_found(pages: &Pages) -> Response {
    let text = "The link is wrong or belongs to another server.";
    message(pages, StatusCode::NOT_FOUND, "Page not found", text)
}

/// For the sandbox's pages on a server with a real processor.
pub fn no_sandbox(pages: &Pages) -> Response {
    let text = "This server uses a real payment processor. You cannot pay on this page.";
    message(pages, StatusCode::NOT_FOUND, "Page not found", text)
}

pub fn unavailable(pages: &Pages, error: &ProcessorError) -> Response {
    tracing::warn!(%error, "page unavailable");
    let text = "Nothing was changed. Please try again in a moment.";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    message(pages, status, "Temporarily unavailable", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_with_a_problem_says_so_first_and_names_the_fields() {
        let page = format!(
            "<title>New task</title>{PROBLEM}<ul><li>{WRONG}city\">must not be empty</a></li>\
             <li>{WRONG}kinds\">must be chosen</a></li><li>{WRONG}none\">is wrong</a></li>\
             <li>{WRONG}skills\">are too many</a></li></ul></div>\
             <label for=\"city\">City <b>x</b></label><fieldset id=\"kinds\" class=\"a\"><legend>Proof</legend>\
             <details id=\"skills\" open><summary>Skills</summary>"
        );
        let told = told_first(page);
        for text in [
            "<title>Error: New task</title>",
            "#city\">City: must not be empty</a>",
            "#kinds\">Proof: must be chosen</a>",
            "#none\">is wrong</a>",
            "#skills\">Skills: are too many</a>",
        ] {
            assert!(told.contains(text), "{text}: {told}");
        }
        let calm = "<title>Tasks</title><p>All is well.</p>".to_owned();
        assert_eq!(told_first(calm.clone()), calm);
    }
}
