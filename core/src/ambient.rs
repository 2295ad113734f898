//! The machine's clock and randomness. All other code takes them as parameters, so that tests can
//! set the time. `clippy.toml` bans the global functions outside this file.

#![allow(clippy::disallowed_methods)]

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::domain::Timestamp;

/// A clock: the machine's, or one that a test sets.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    set_millis: Option<Arc<AtomicI64>>,
}

impl Clock {
    pub fn system() -> Self {
        Self::default()
    }

    pub fn set_to(at: Timestamp) -> Self {
        Self {
            set_millis: Some(Arc::new(AtomicI64::new(at.as_millis()))),
        }
    }

    /// Moves a clock that was set. The machine's clock cannot be moved.
    pub fn move_to(&self, at: Timestamp) {
        if let Some(millis) = &self.set_millis {
            millis.store(at.as_millis(), Ordering::SeqCst);
        }
    }

    pub fn now(&self) -> Timestamp {
        let millis = match &self.set_millis {
            Some(millis) => millis.load(Ordering::SeqCst),
            None => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_millis() as i64),
        };
        Timestamp::from_millis(millis)
    }
}

/// Random bytes for an id, which must be unique but need not be secret. Each thread keeps a supply,
/// because every request needs some and asking the operating system each time is expensive.
pub fn random_for_id() -> [u8; 10] {
    thread_local! {
        static STORE: RefCell<Vec<[u8; 10]>> = const { RefCell::new(Vec::new()) };
    }
    STORE.with_borrow_mut(|store| {
        if store.is_empty() {
            let bytes: [u8; 640] = random();
            store.extend(bytes.as_chunks().0);
        }
        store.pop().unwrap_or_else(random)
    })
}

/// Bytes from the operating system's generator.
///
/// # Panics
/// If the operating system provides no randomness, because no key could be trusted then.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides randomness");
    bytes
}
