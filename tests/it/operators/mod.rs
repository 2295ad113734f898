//! What operators see and run: metrics, logs, readiness, what `doctor` finds, headers, alerts, the
//! proxy of the documentation.

mod alerts;
mod cors;
mod doctor;
mod headers;
mod logs;
mod metrics;
mod nginx;
mod package;
mod pgbouncer;
mod promises;
mod readiness;
