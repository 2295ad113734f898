//! The front door, and what browsers and robots ask every site for.

use askama::Template;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::api::inside::{Refused, TakesPages};
use crate::pages::kit::html::ok;
use crate::pages::state::Pages;

#[derive(Template)]
#[template(path = "public/front.html")]
struct Front {
    banner: bool,
    local: bool,
}

/// A program that asks for nothing in particular gets what it gets for any wrong path.
pub async fn front(State(pages): State<Pages>, takes: TakesPages) -> Result<Response, Refused> {
    if !takes.0 {
        return Err(Refused::not_found());
    }
    let (banner, local) = (pages.banner(), pages.app.pages.local);
    Ok(ok(&Front { banner, local }))
}

/// A green square with a step in it.
const ICON: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f5f4a"/><path d="M9 7v14a3 3 0 0 0 3 3h12" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/></svg>"##;

pub async fn favicon() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CACHE_CONTROL, "public, max-age=86400"),
    ];
    (headers, ICON)
}

/// Only the front page is for search engines.
pub async fn robots() -> impl IntoResponse {
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    (headers, "User-agent: *\nAllow: /$\nDisallow: /\n")
}
