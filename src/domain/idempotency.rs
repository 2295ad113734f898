//! POST requests that are sent again with the same Idempotency-Key.

use std::time::Duration;

/// How long the response of a request is kept for a replay.
pub const IDEMPOTENCY_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
