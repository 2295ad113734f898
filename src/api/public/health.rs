//! Is it up, is it ready, how is it doing.

use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use crate::api::App;

/// Whoever asks does not wait long, and a database that takes longer is of no use.
const READY_WITHIN: Duration = Duration::from_millis(1_500);

/// Requests are served.
pub async fn healthz() -> &'static str {
    "ok\n"
}

/// Requests can be served: the database answers.
pub async fn readyz(State(app): State<App>) -> impl IntoResponse {
    let reason = match tokio::time::timeout(READY_WITHIN, app.store.ping()).await {
        Ok(Ok(())) => return (StatusCode::OK, "ready\n"),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the database did not answer in time".to_owned(),
    };
    tracing::warn!(error = reason, "not ready");
    let message = "the database does not answer\n";
    (StatusCode::SERVICE_UNAVAILABLE, message)
}

pub async fn metrics(State(app): State<App>) -> impl IntoResponse {
    app.store.record_load();
    let prometheus_text = "text/plain; version=0.0.4";
    (
        [(header::CONTENT_TYPE, prometheus_text)],
        app.metrics.render(),
    )
}
