//! How much one sender may upload, and how slowly.

pub mod upload;

use std::time::Duration;

use crate::domain::Timestamp;
use crate::domain::tasks::ProofType;

/// Uploads of one worker, or of one account in test mode, that may be in progress at once.
pub const UPLOADS_AT_ONCE: usize = 2;

/// Bytes that one worker may send in a day (UTC), whatever becomes of them.
pub const BYTES_A_DAY: u64 = 5_000_000_000;

/// The same while nobody has verified the worker: enough for documents, sent a few times.
pub const DOCUMENT_BYTES_A_DAY: u64 = 100_000_000;

/// Received files of one sender that may be in the incoming folder at once.
pub const INCOMING_BYTES_OF_SENDER: u64 = 250_000_000;

/// The same for all senders of one server.
pub const INCOMING_BYTES: u64 = 4_000_000_000;

/// A sender who is slower over half a minute is not waited for.
pub const MIN_BYTES_A_SECOND: u64 = 1_000;

/// How long the files of test proofs are kept.
pub const TEST_FILES_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

// The limit of uploads at once and the largest submission keep each sender within the limit of the
// incoming folder.
const LARGEST_SUBMISSION: u64 =
    ProofType::Photo.max_bytes() + ProofType::Video.max_bytes() + ProofType::Signature.max_bytes();
const _: () = assert!(LARGEST_SUBMISSION * UPLOADS_AT_ONCE as u64 <= INCOMING_BYTES_OF_SENDER);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The day in UTC as a number that increases.
pub fn day(now: Timestamp) -> i64 {
    now.as_millis().div_euclid(DAY.as_millis() as i64)
}

/// How many seconds of the day are left, at least one.
pub fn seconds_left(now: Timestamp) -> u64 {
    let millis = DAY.as_millis() as i64;
    let left = millis - now.as_millis().rem_euclid(millis);
    left.unsigned_abs().div_ceil(1_000).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_midnight_in_utc() {
        let at = |text| Timestamp::RULE.check(text).unwrap();
        let (evening, midnight) = (at("2026-11-15T23:59:59.001Z"), at("2026-11-16T00:00:00Z"));
        assert_eq!(day(evening) + 1, day(midnight));
        assert_eq!(seconds_left(evening), 1);
        assert_eq!(seconds_left(midnight), 24 * 60 * 60);
    }
}
