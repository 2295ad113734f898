//! Tells people of errors with a page, where a program gets JSON.

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::Response;

use crate::api::error::ApiError;
use crate::api::error::refused::{Refused, Told};
use crate::api::middleware::around::Next;
use crate::api::middleware::incoming::{Incoming, takes_pages};

/// Makes the page.
pub type ErrorPage = fn(&Refused, &Incoming) -> Response;

/// What programs alone ask for, whatever they say they accept.
const FOR_PROGRAMS: [&str; 8] = [
    "/v1/",
    "/files/",
    "/hooks/",
    "/metrics",
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/.well-known/",
];

pub async fn tell_people(
    State(error_page): State<ErrorPage>,
    request: Request,
    next: Next,
) -> Response {
    let incoming = is_for_people(&request).then(|| Incoming::of(&request));
    let response = next.run(request).await;
    let error = response.extensions().get::<ApiError>().cloned();
    let is_told = response.extensions().get::<Told>().is_some();
    let (Some(incoming), Some(error), false) = (incoming, error, is_told) else {
        return response;
    };
    let refused = Refused::from(error);
    let mut page = error_page(&refused, &incoming);
    for (name, value) in response.headers() {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            page.headers_mut().insert(name.clone(), value.clone());
        }
    }
    refused.note_on(&mut page);
    page
}

fn is_for_people(request: &Request) -> bool {
    let path = request.uri().path();
    takes_pages(request.headers()) && !FOR_PROGRAMS.iter().any(|start| path.starts_with(start))
}
