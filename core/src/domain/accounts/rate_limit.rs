//! The quota of a caller as all processes share it: so many requests in a window, all of which may
//! come at once, and which come back evenly (GCRA).

use std::time::Duration;

use crate::domain::Timestamp;

/// The window of all rate limits.
pub const RATE_WINDOW: Duration = Duration::from_secs(60);

const WINDOW_MICROS: i64 = RATE_WINDOW.as_micros() as i64;

/// What has been taken from a quota. Times are in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// When all of the quota is back.
    pub full_at: i64,
    /// The latest time at which a process used it.
    pub seen_at: i64,
}

/// What a process asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Requests in a window.
    pub quota: u32,
    /// Requests that were let through and not recorded yet. Less than zero: it gives back.
    pub spent: i64,
    /// Requests that it would like to let through next.
    pub wanted: u32,
}

/// What it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    pub granted: u32,
    /// What is left for everybody. Less than zero: more was let through than there was.
    pub left: i64,
}

impl Bucket {
    /// One that is full.
    pub fn full(now: Timestamp) -> Self {
        let now = micros(now);
        Self {
            full_at: now,
            seen_at: now,
        }
    }

    /// Records what was spent and grants what is left of what is wanted.
    ///
    /// The time is the latest that any process has told, so a clock that is behind does not take
    /// away from what others have left, and the quota comes back at the pace of one clock. One that
    /// was ahead by more than a window is no longer believed once somebody tells another time.
    pub fn settle(self, asked: Settlement, now: Timestamp) -> (Self, Settled) {
        let interval = interval(asked.quota);
        let told = micros(now);
        let (now, full_at) = match self.seen_at {
            // What was taken counts, by whatever clock: the rest is the fault of that clock.
            ahead if ahead > told + WINDOW_MICROS => (
                told,
                told.saturating_add(self.full_at.saturating_sub(ahead)),
            ),
            seen => (seen.max(told), self.full_at),
        };
        // A debt is at most one window, whatever a wrong clock has left behind.
        let full_at = full_at.clamp(now, now + 2 * WINDOW_MICROS);
        let recorded = (full_at + asked.spent * interval).max(now);
        let left = (now + WINDOW_MICROS - recorded).div_euclid(interval);
        let granted = left.clamp(0, i64::from(asked.wanted));
        let after = Self {
            full_at: recorded + granted * interval,
            seen_at: now,
        };
        let settled = Settled {
            granted: granted as u32,
            left: left - granted,
        };
        (after, settled)
    }
}

/// After this many microseconds one request comes back.
fn interval(quota: u32) -> i64 {
    WINDOW_MICROS / i64::from(quota.max(1))
}

fn micros(at: Timestamp) -> i64 {
    at.as_millis() * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: u32 = 600;

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_millis(1_000_000_000_000 + (seconds * 1_000.0) as i64)
    }

    fn ask(spent: i64, wanted: u32) -> Settlement {
        Settlement {
            quota: QUOTA,
            spent,
            wanted,
        }
    }

    #[test]
    fn a_window_may_come_at_once_and_comes_back_evenly() {
        let bucket = Bucket::full(at(0.0));
        let (bucket, settled) = bucket.settle(ask(0, 1_000), at(0.0));
        assert_eq!((settled.granted, settled.left), (600, 0));
        let (bucket, settled) = bucket.settle(ask(0, 1_000), at(1.0));
        assert_eq!((settled.granted, settled.left), (10, 0));
        let (_, settled) = bucket.settle(ask(0, 1_000), at(1_000.0));
        assert_eq!(settled.granted, 600);
    }

    #[test]
    fn what_was_let_through_already_is_recorded_whatever_is_left() {
        let bucket = Bucket::full(at(0.0));
        let (bucket, settled) = bucket.settle(ask(595, 3), at(0.0));
        assert_eq!((settled.granted, settled.left), (3, 2));
        let (bucket, settled) = bucket.settle(ask(12, 5), at(0.0));
        assert_eq!((settled.granted, settled.left), (0, -10));
        // The debt is paid before anything is granted.
        let (bucket, settled) = bucket.settle(ask(0, 5), at(1.0));
        assert_eq!((settled.granted, settled.left), (0, 0));
        let (_, settled) = bucket.settle(ask(0, 5), at(1.2));
        assert_eq!(settled.granted, 2);
    }

    #[test]
    fn what_is_given_back_is_there_for_others_and_never_more_than_the_quota() {
        let (bucket, _) = Bucket::full(at(0.0)).settle(ask(600, 0), at(0.0));
        let (bucket, settled) = bucket.settle(ask(-10, 0), at(0.0));
        assert_eq!(settled.left, 10);
        let (_, settled) = bucket.settle(ask(-5_000, 0), at(0.0));
        assert_eq!(settled.left, 600);
    }

    #[test]
    fn a_clock_that_is_behind_neither_loses_nor_wins() {
        let (bucket, _) = Bucket::full(at(0.0)).settle(ask(600, 0), at(5.0));
        // The same moment, told by a clock that is five seconds behind.
        let (bucket, settled) = bucket.settle(ask(0, 100), at(0.0));
        assert_eq!((settled.granted, settled.left), (0, 0));
        let (_, settled) = bucket.settle(ask(0, 100), at(6.0));
        assert_eq!(settled.granted, 10);
    }

    #[test]
    fn a_clock_that_is_minutes_ahead_takes_nothing_from_the_others() {
        let mut bucket = Bucket::full(at(0.0));
        for second in 0..200 {
            let now = f64::from(second);
            let (ahead, settled) = bucket.settle(ask(1, 5), at(now + 120.0));
            assert_eq!(settled.granted, 5);
            let (right, settled) = ahead.settle(ask(1, 5), at(now));
            assert_eq!(settled.granted, 5);
            bucket = right;
        }
    }

    #[test]
    fn a_clock_that_was_hours_ahead_costs_a_window_at_most() {
        let (bucket, _) = Bucket::full(at(0.0)).settle(ask(600, 0), at(7_200.0));
        let (bucket, settled) = bucket.settle(ask(0, 1), at(1.0));
        assert_eq!(settled.granted, 0);
        let (_, settled) = bucket.settle(ask(0, 1), at(62.0));
        assert_eq!(settled.granted, 1);
    }
}
