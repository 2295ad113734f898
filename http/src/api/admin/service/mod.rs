//! What the service does: its jobs and notifications, the audit log, the monthly report.

pub mod audit;
pub mod jobs;
pub mod notifications;
pub mod report;
