//! How much of something each caller holds at once in this process.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Only callers who hold something take memory.
pub struct Places<K>(Arc<Mutex<HashMap<K, usize>>>);

impl<K: Copy + Eq + Hash> Places<K> {
    /// `None` if the caller holds as many as anybody may.
    pub fn take(&self, caller: K, most: usize) -> Option<Place<K>> {
        self.take_some(caller, 1, most)
    }

    /// `None` if the caller would hold more than anybody may. What somebody takes who holds nothing always fits.
    pub fn take_some(&self, caller: K, count: usize, most: usize) -> Option<Place<K>> {
        let mut taken = self.lock();
        let held = taken.get(&caller).copied().unwrap_or(0);
        let wanted = held.checked_add(count)?;
        if held > 0 && wanted > most {
            return None;
        }
        taken.insert(caller, wanted);
        Some(Place {
            places: self.clone(),
            caller,
            count,
            is_first: held == 0,
        })
    }

    pub fn held(&self, caller: K) -> usize {
        self.lock().get(&caller).copied().unwrap_or(0)
    }

    fn free(&self, caller: K, count: usize) {
        let mut taken = self.lock();
        if let Some(held) = taken.get_mut(&caller) {
            *held -= count;
            if *held == 0 {
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
    count: usize,
    is_first: bool,
}

impl<K: Copy + Eq + Hash> Place<K> {
    /// Whether the caller held nothing else when this was taken.
    pub const fn is_first(&self) -> bool {
        self.is_first
    }
}

impl<K: Copy + Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        self.places.free(self.caller, self.count);
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

    #[test]
    fn some_fit_or_none() {
        let places = Places::default();
        let held = places.take_some("ada", 3, 4).unwrap();
        assert!(held.is_first() && places.take_some("grace", 5, 4).is_some());
        assert!(places.take_some("ada", 2, 4).is_none());
        assert_eq!(places.held("ada"), 3);
        assert!(!places.take_some("ada", 1, 4).unwrap().is_first());
        drop(held);
        assert_eq!((places.held("ada"), places.held("grace")), (0, 0));
    }
}
