//! How many of something each caller holds at once in this process.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Only callers who hold something take memory.
pub struct Places<K>(Arc<Mutex<HashMap<K, usize>>>);

impl<K: Copy + Eq + Hash> Places<K> {
    /// `None` if the caller holds as many as anybody may.
    pub fn take(&self, caller: K, most: usize) -> Option<Place<K>> {
        let mut taken = self.lock();
        let count = taken.entry(caller).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Place {
            places: self.clone(),
            caller,
        })
    }

    fn free(&self, caller: K) {
        let mut taken = self.lock();
        if let Some(count) = taken.get_mut(&caller) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&caller);
            }
        }
    }
}

impl<K> Places<K> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Clone for Places<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> Default for Places<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// Dropping it frees the place.
pub struct Place<K: Copy + Eq + Hash> {
    places: Places<K>,
    caller: K,
}

impl<K: Copy + Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        self.places.free(self.caller);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_so_many_and_gets_them_back() {
        let places = Places::default();
        let held: Vec<_> = (0..2).map(|_| places.take("ada", 2).unwrap()).collect();
        assert!(places.take("ada", 2).is_none());
        assert!(places.take("grace", 2).is_some());
        drop(held);
        assert!(places.take("ada", 2).is_some());
        assert!(places.lock().is_empty());
    }
}
