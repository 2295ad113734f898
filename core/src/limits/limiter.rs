//! So many attempts in a window for each key, all of which may come at once (GCRA). However many
//! keys there are, the memory is bounded.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// No more attempts for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many attempts: the next one counts after {retry_after_seconds} s")]
pub struct TooMany {
    pub retry_after_seconds: u64,
}

/// Who is counted.
pub trait Key: Copy + Eq + Hash {
    type Group: Hash;

    /// With whom a key shares its attempts when there are too many keys to count each.
    fn group(&self) -> Self::Group;
}

pub struct Limiter<K> {
    window: Duration,
    /// One attempt comes back after this time.
    interval: Duration,
    max_keys: usize,
    hasher: RandomState,
    counted: Mutex<Counted<K>>,
}

struct Counted<K> {
    /// When a key has all its attempts back.
    keys: HashMap<K, Instant>,
    /// The same for groups of keys that came when the map was full.
    groups: Vec<Instant>,
    swept_at: Instant,
}

/// A few megabytes.
const MAX_KEYS: usize = 50_000;
const GROUPS: usize = 1_024;
/// How often a full map is searched for keys that need no place any more.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

impl<K: Key> Limiter<K> {
    pub fn new(attempts: u32, window: Duration) -> Self {
        Self::with_room_for(MAX_KEYS, attempts, window, Instant::now())
    }

    fn with_room_for(max_keys: usize, attempts: u32, window: Duration, now: Instant) -> Self {
        Self {
            window,
            interval: window / attempts.max(1),
            max_keys,
            hasher: RandomState::new(),
            counted: Mutex::new(Counted {
                keys: HashMap::new(),
                groups: vec![now; GROUPS],
                swept_at: now,
            }),
        }
    }

    /// Counts an attempt, or says how long to wait for the next.
    pub fn count(&self, key: K, now: Instant) -> Result<(), TooMany> {
        let mut counted = self.lock();
        let full_at = self.place(&mut counted, key, now);
        let after = (*full_at).max(now) + self.interval;
        let wait = after.saturating_duration_since(now + self.window);
        if wait.is_zero() {
            *full_at = after;
            return Ok(());
        }
        Err(TooMany {
            retry_after_seconds: wait.as_secs() + 1,
        })
    }

    /// Takes back an attempt that shall not count.
    pub fn give_back(&self, key: K, now: Instant) {
        let mut counted = self.lock();
        let full_at = self.place(&mut counted, key, now);
        *full_at = full_at.checked_sub(self.interval).unwrap_or(now);
    }

    /// Drops the keys that have all their attempts back.
    pub fn forget_idle(&self, now: Instant) {
        let mut counted = self.lock();
        counted.sweep(now);
        let keys = &mut counted.keys;
        keys.shrink_to(keys.len() * 2);
    }

    /// Where a key is counted: in a place of its own, or in that of its group when none is left. So
    /// whoever has more addresses than we have places slows down the neighbours at most.
    fn place<'a>(&self, counted: &'a mut Counted<K>, key: K, now: Instant) -> &'a mut Instant {
        let is_full = |counted: &Counted<K>| {
            counted.keys.len() >= self.max_keys && !counted.keys.contains_key(&key)
        };
        if is_full(counted) && now.duration_since(counted.swept_at) >= SWEEP_EVERY {
            counted.sweep(now);
        }
        if is_full(counted) {
            let group = self.hasher.hash_one(key.group()) as usize % GROUPS;
            return &mut counted.groups[group];
        }
        counted.keys.entry(key).or_insert(now)
    }

    fn lock(&self) -> MutexGuard<'_, Counted<K>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Key> Counted<K> {
    fn sweep(&mut self, now: Instant) {
        self.keys.retain(|_, full_at| *full_at > now);
        self.swept_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// The group is the hundreds.
    impl Key for u32 {
        type Group = u32;

        fn group(&self) -> u32 {
            self / 100
        }
    }

    fn limiter(now: Instant) -> Limiter<u32> {
        Limiter::with_room_for(3, 10, MINUTE, now)
    }

    fn taken(limiter: &Limiter<u32>, key: u32, now: Instant) -> usize {
        (0..20)
            .take_while(|_| limiter.count(key, now).is_ok())
            .count()
    }

    #[test]
    fn all_attempts_may_come_at_once_and_come_back_one_by_one() {
        let now = Instant::now();
        let limiter = limiter(now);
        assert_eq!(taken(&limiter, 1, now), 10);
        assert_eq!(taken(&limiter, 2, now), 10);
        let Err(TooMany {
            retry_after_seconds,
        }) = limiter.count(1, now)
        else {
            panic!("counted");
        };
        assert!((6..=7).contains(&retry_after_seconds));
        assert_eq!(taken(&limiter, 1, now + MINUTE / 10), 1);
        assert_eq!(taken(&limiter, 1, now + 3 * MINUTE), 10);
    }

    #[test]
    fn an_attempt_that_is_given_back_was_never_made() {
        let now = Instant::now();
        let limiter = limiter(now);
        for _ in 0..50 {
            assert!(limiter.count(1, now).is_ok());
            limiter.give_back(1, now);
        }
        assert_eq!(taken(&limiter, 1, now), 10);
    }

    #[test]
    fn more_keys_than_places_share_by_group() {
        let now = Instant::now();
        let limiter = limiter(now);
        for key in [1, 2, 3] {
            assert_eq!(taken(&limiter, key, now), 10);
        }
        // Whoever has a place keeps it. The others count by group.
        assert_eq!(taken(&limiter, 1, now), 0);
        assert_eq!(taken(&limiter, 501, now), 10);
        assert_eq!(taken(&limiter, 502, now), 0);
        let elsewhere = (10..20).map(|hundreds| taken(&limiter, hundreds * 100, now));
        assert!(elsewhere.sum::<usize>() > 10);
        for key in 0..100_000 {
            let _ = limiter.count(key, now);
        }
        assert_eq!(limiter.lock().keys.len(), 3);
    }

    #[test]
    fn idle_keys_make_room() {
        let now = Instant::now();
        let limiter = limiter(now);
        for key in [1, 2, 3] {
            assert!(limiter.count(key, now).is_ok());
        }
        let later = now + 2 * MINUTE;
        assert_eq!(taken(&limiter, 501, later), 10);
        assert_eq!(taken(&limiter, 502, later), 10);
        assert_eq!(limiter.lock().keys.len(), 2);
        limiter.forget_idle(later + 2 * MINUTE);
        assert_eq!(limiter.lock().keys.len(), 0);
    }
}
