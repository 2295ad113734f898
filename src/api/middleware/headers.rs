//! Headers that tell browsers what they may do with an answer.

use axum::http::{HeaderMap, HeaderValue, header};

/// Each is set unless the handler has set it.
type Headers = [(&'static str, &'static str)];

/// On every answer.
const ALWAYS: &Headers = &[("x-content-type-options", "nosniff")];

/// On every page.
const PAGE: &Headers = &[
    ("x-frame-options", "DENY"),
    // With no-referrer, our own forms would say that they come from nowhere.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// What a page may load: files of ours, those in `{files}`, and the tiles of maps. What is written into a page does not
/// run, and no script makes HTML of a text.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' blob: data:{files}{tiles}; media-src 'self' blob:{files}; connect-src 'self'; \
    worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types legwork";

/// The policy of pages that show files of this origin, and tiles of that one.
pub fn page_policy(files: Option<&str>, tiles: Option<&str>) -> HeaderValue {
    let more = |origin: Option<&str>| origin.map_or(String::new(), |origin| format!(" {origin}"));
    let policy = PAGE_POLICY
        .replace("{files}", &more(files))
        .replace("{tiles}", &more(tiles));
    let policy = HeaderValue::try_from(policy);
    policy.unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// Swagger UI is made of scripts. They are files of ours; what is written into a page does not run.
/// Its style sheet contains pictures. The forms that it draws send requests by script. It makes HTML by script
/// all over, so it does not run under trusted types.
const DOCS_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// Routes that speak tus say so, whatever they answer.
const UPLOADS: &str = "/v1/worker/uploads";

pub fn set(route: &str, page_policy: &HeaderValue, headers: &mut HeaderMap) {
    let docs = is_docs(route);
    // Nothing else may be kept: answers are of one caller, and change.
    let cached = if docs { "no-cache" } else { "no-store" };
    add(headers, ALWAYS);
    add(headers, &[("cache-control", cached)]);
    if route.starts_with(UPLOADS) {
        add(headers, &[("tus-resumable", "1.0.0")]);
    }
    if is_page(headers) {
        let policy = match docs {
            true => HeaderValue::from_static(DOCS_POLICY),
            false => page_policy.clone(),
        };
        add(headers, PAGE);
        headers.entry("content-security-policy").or_insert(policy);
    }
}

/// The description of the API and its page, which are the same for everybody.
fn is_docs(route: &str) -> bool {
    route == "/openapi.json" || route == "/docs" || route.starts_with("/docs/")
}

fn is_page(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/html"))
}

fn add(headers: &mut HeaderMap, wanted: &Headers) {
    for (name, value) in wanted {
        headers
            .entry(*name)
            .or_insert(HeaderValue::from_static(value));
    }
}
