//! How the service runs: jobs, mails, the audit log, the books, and its health.

pub mod audit;
pub mod health;
pub mod jobs;
pub mod notices;
pub mod reports;
