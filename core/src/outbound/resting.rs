//! Others who did not answer a moment ago, and are left alone for a while.
//!
//! Whoever takes connections and says nothing would keep all places for a kind of work busy: a push service of
//! somebody's own those of notifications, so that nobody gets mail; a file store those of payments.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So long one of them is left alone.
const REST: Duration = Duration::from_secs(60);
/// More are not remembered: then some are asked in vain once more.
const MOST: usize = 10_000;

/// Those who are left alone, by whatever tells them apart. Cheap to clone.
#[derive(Clone)]
pub struct Resting<K>(Arc<Mutex<HashMap<K, Instant>>>);

impl<K> Default for Resting<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash> Resting<K> {
    pub fn has(&self, key: &K, now: Instant) -> bool {
        let until = self.lock().get(key).copied();
        until.is_some_and(|until| now < until)
    }

    pub fn add(&self, key: K, now: Instant) {
        let mut resting = self.lock();
        if resting.len() >= MOST {
            resting.retain(|_, until| now < *until);
        }
        if resting.len() < MOST {
            resting.insert(key, now + REST);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_left_alone_for_a_while() {
        let (resting, now) = (Resting::default(), Instant::now());
        resting.add("one", now);
        assert!(resting.has(&"one", now) && !resting.has(&"other", now));
        assert!(!resting.has(&"one", now + REST));
    }

    #[test]
    fn many_take_little() {
        let (resting, now) = (Resting::default(), Instant::now());
        for number in 0..MOST + 10 {
            resting.add(number, now);
        }
        assert_eq!(resting.lock().len(), MOST);
        resting.add(MOST + 10, now + REST);
        assert_eq!(resting.lock().len(), 1);
    }
}
