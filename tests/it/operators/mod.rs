//! What operators see: metrics, logs, readiness.

mod logs;
mod metrics;
mod readiness;
