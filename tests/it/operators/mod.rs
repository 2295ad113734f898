//! What operators see: metrics, logs, readiness, what `doctor` finds, headers.

mod doctor;
mod headers;
mod logs;
mod metrics;
mod readiness;
