//! POST requests that are repeated with the same Idempotency-Key.

use std::time::Duration;

/// How long a response is kept for replay.
pub const IDEMPOTENCY_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
