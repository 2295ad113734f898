//! The key that came last on a connection. A program sends the same one with each of its requests, and to hash it
//! takes longer than to find whose it is.

use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::Secret;

/// No key or token of ours is longer: what is, is not kept.
const LONGEST: usize = 128;

#[derive(Clone, Default)]
pub struct LastKey(Arc<Mutex<Option<Hashed>>>);

struct Hashed {
    key: Secret,
    hash: String,
}

impl LastKey {
    pub fn hash(&self, key: &Secret) -> String {
        if key.expose().len() > LONGEST {
            return key.hash();
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            // Behind a proxy, others may have sent the last one: how long this takes must not tell it.
            Some(hashed) if hashed.key.is(key) => hashed.hash.clone(),
            _ => {
                let hash = key.hash();
                *last = Some(Hashed {
                    key: key.clone(),
                    hash: hash.clone(),
                });
                hash
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_hash_whatever_came_before() {
        let last = LastKey::default();
        let long = "a".repeat(LONGEST + 1);
        for text in ["a", "a", "b", "a", "", &long, &long, "aa", "b"] {
            let key = Secret::presented(text);
            assert_eq!(last.hash(&key), key.hash(), "{text}");
        }
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let last = LastKey::default();
        last.hash(&Secret::presented(&"a".repeat(LONGEST + 1)));
        assert!(last.0.lock().unwrap().is_none());
    }
}
