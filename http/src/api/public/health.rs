//! Is it up, is it ready, how is it doing.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use crate::api::App;

/// Requests are served.
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Requests can be served: the database and file storage answer, and the server is not about to
/// stop. Says what is wrong.
pub async fn readyz(State(app): State<App>) -> impl IntoResponse {
    let troubles = match app.shutdown.is_draining() {
        true => vec!["the server is about to stop"],
        false => app.monitoring.troubles().await,
    };
    if troubles.is_empty() {
        return (StatusCode::OK, "ready\n".to_owned());
    }
    let lines = troubles.join("\n") + "\n";
    (StatusCode::SERVICE_UNAVAILABLE, lines)
}

pub async fn metrics(State(app): State<App>) -> impl IntoResponse {
    app.store.record_load();
    let prometheus_text = "text/plain; version=0.0.4";
    (
        [(header::CONTENT_TYPE, prometheus_text)],
        app.monitoring.scrape(app.scheduler.lag()).await,
    )
}
