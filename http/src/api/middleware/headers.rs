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

/// Routes that speak tus say so, whatever they answer.
const UPLOADS: &str = "/v1/worker/uploads";

pub fn set(route: &str, page_policy: &HeaderValue, headers: &mut HeaderMap) {
    // Nothing else may be kept: answers are of one caller, and change.
    let cached = match is_docs(route) {
        true => "no-cache",
        false => "no-store",
    };
    add(headers, ALWAYS);
    add(headers, &[("cache-control", cached)]);
    if route.starts_with(UPLOADS) {
        add(headers, &[("tus-resumable", "1.0.0")]);
    }
    if is_page(headers) {
        add(headers, PAGE);
        let policy = headers.entry("content-security-policy");
        policy.or_insert_with(|| page_policy.clone());
    }
}

/// The description of the API and its pages, which are the same for everybody.
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
