//! Is it up, is it ready, how is it doing.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use crate::api::App;

/// Requests are served.
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Requests can be served: the database answers, and the server is not about to stop.
pub async fn readyz(State(app): State<App>) -> impl IntoResponse {
    if app.shutdown.is_draining() {
        let message = "the server is about to stop\n";
        return (StatusCode::SERVICE_UNAVAILABLE, message);
    }
    match app.store.ping().await {
        Ok(()) => (StatusCode::OK, "ready\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            let message = "the database does not answer\n";
            (StatusCode::SERVICE_UNAVAILABLE, message)
        }
    }
}

pub async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let prometheus_text = "text/plain; version=0.0.4";
    (
        [(header::CONTENT_TYPE, prometheus_text)],
        app.metrics.render(),
    )
}
