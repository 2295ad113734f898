//! Logs, metrics and traces.

mod log_writer;
mod one_line;
mod traces;

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use log_writer::LogWriter;
use one_line::OneLine;

pub use traces::Traces;

use crate::monitoring::{Kind, METRICS};
use crate::settings::{LogFormat, Settings};

/// Starts logging to standard error. What was logged is written before the guard is dropped.
pub fn start_logging(settings: &Settings) -> std::io::Result<Logged> {
    let terminal = std::io::stderr().is_terminal();
    let format = settings.log_format.unwrap_or(if terminal {
        LogFormat::Text
    } else {
        LogFormat::Json
    });
    let filter = settings.log.clone();
    let log = LogWriter::start(std::io::stderr())?;
    let (written, one_line) = (log.clone(), log.clone());
    let logger = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .log_internal_errors(false)
        .with_writer(written);
    // An error means that a logger already exists, for example in a test. That one is used.
    let _ = match format {
        LogFormat::Text => logger
            .with_ansi(terminal)
            .with_writer(move || OneLine(one_line.clone()))
            .finish()
            .with(filter)
            .try_init(),
        LogFormat::Json => logger
            .json()
            .flatten_event(true)
            .finish()
            .with(filter)
            .try_init(),
    };
    Ok(Logged(log))
}

/// How long the end of the process waits for the log.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);

pub struct Logged(LogWriter);

impl Drop for Logged {
    fn drop(&mut self) {
        self.0.flush_within(WRITTEN_WITHIN);
    }
}

const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
const BATCH_SIZES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// Starts collecting metrics, once per process. The handle renders them. Call it before anything
/// that records: what is recorded earlier is lost.
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
    for metric in METRICS {
        match metric.kind {
            Kind::Counter => describe_counter!(metric.name, metric.help()),
            Kind::Gauge => describe_gauge!(metric.name, metric.help()),
            Kind::Histogram => describe_histogram!(metric.name, metric.help()),
        }
    }
}
