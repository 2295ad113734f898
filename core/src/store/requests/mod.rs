//! What is kept of requests: answers to repeat, and how many there were.

pub(super) mod idempotency;
pub(super) mod rate_limits;
