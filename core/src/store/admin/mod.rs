//! Administration: keys, the review queue, the audit log, reports.

pub(super) mod admin_keys;
pub(super) mod audit;
pub(super) mod decisions;
pub(super) mod proposals;
pub(super) mod reports;
pub(super) mod review_queue;
