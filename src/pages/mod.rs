//! Pages for people, rendered on the server.

mod form;
mod html;
mod links;
mod onboarding;
mod pay;

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::ambient::Clock;
use crate::passwords::Passwords;
use crate::payments::Payments;
use crate::store::Store;

/// What pages need.
#[derive(Clone)]
pub struct Pages {
    pub store: Store,
    pub clock: Clock,
    pub payments: Payments,
    pub passwords: Arc<Passwords>,
    /// Pages say that no money moves if the processor is the sandbox.
    pub sandbox_banner: bool,
}

impl Pages {
    fn banner(&self) -> bool {
        self.sandbox_banner && self.payments.sandbox.is_some()
    }
}

/// All routes of the pages.
pub fn router<S: Clone + Send + Sync + 'static>(pages: Pages) -> Router<S> {
    Router::new()
        .route("/pay/{client_secret}", get(pay::show).post(pay::pay))
        .route(
            "/onboarding/{link_secret}",
            get(onboarding::show).post(onboarding::complete),
        )
        .route("/onboarding/done", get(onboarding::done))
        .route("/onboarding/expired", get(onboarding::expired))
        .route(
            "/confirm/{token}",
            get(links::show_confirm).post(links::confirm),
        )
        .route(
            "/reset/{token}",
            get(links::show_password).post(links::set_password),
        )
        .route(
            "/invite/{token}",
            get(links::show_password).post(links::set_password),
        )
        .route("/assets/legwork.css", get(stylesheet))
        .with_state(pages)
}

async fn stylesheet() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=3600"),
    ];
    (headers, include_str!("../../assets/legwork.css"))
}
