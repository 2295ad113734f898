//! Logs, metrics and traces.

mod traces;

use std::io::IsTerminal;
use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

pub use traces::Traces;

use crate::settings::{LogFormat, Settings};

/// Starts logging to standard error.
pub fn start_logging(settings: &Settings) {
    let terminal = std::io::stderr().is_terminal();
    let format = settings.log_format.unwrap_or(if terminal {
        LogFormat::Text
    } else {
        LogFormat::Json
    });
    let logger = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(&settings.log))
        .with_writer(std::io::stderr);
    // An error means that a logger already exists, for example in a test. That one is used.
    let _ = match format {
        LogFormat::Text => logger.with_ansi(terminal).try_init(),
        LogFormat::Json => logger.json().flatten_event(true).try_init(),
    };
}

const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
const BATCH_SIZES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// Starts collecting metrics, once per process. The handle renders them.
pub fn start_metrics() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    let start = || {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), SECONDS)
            .and_then(|b| {
                b.set_buckets_for_metric(Matcher::Suffix("_batch_size".into()), BATCH_SIZES)
            })
            .unwrap_or_default()
            .build_recorder();
        let handle = recorder.handle();
        // Fails only if a host program already collects metrics.
        if metrics::set_global_recorder(recorder).is_ok() {
            describe();
        }
        handle
    };
    HANDLE.get_or_init(start).clone()
}

fn describe() {
    use metrics::{describe_counter, describe_gauge, describe_histogram};
    describe_counter!(
        "legwork_requests_total",
        "Requests by method, route and status"
    );
    describe_histogram!(
        "legwork_request_seconds",
        "Response time, by method and route"
    );
    describe_gauge!(
        "legwork_connections_open",
        "Connections that are open, by transport"
    );
    describe_counter!(
        "legwork_connections_refused_total",
        "Connections that were refused because too many were open, by reason"
    );
    describe_gauge!("legwork_streams_open", "Streams of events that are open");
    describe_gauge!(
        "legwork_writer_queue",
        "Transactions waiting for the SQLite writer"
    );
    describe_histogram!(
        "legwork_writer_batch_size",
        "Transactions in one SQLite commit"
    );
    describe_gauge!("legwork_pool_connections", "Connections to PostgreSQL");
    describe_gauge!("legwork_pool_busy", "Connections to PostgreSQL in use");
    describe_gauge!(
        "legwork_pool_queue",
        "Transactions waiting for a connection"
    );
    describe_counter!(
        "legwork_pool_retries_total",
        "PostgreSQL transactions that were retried"
    );
}
