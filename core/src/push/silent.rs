//! Push services that did not answer a moment ago.
//!
//! Anybody can name any host as the push service of a browser. One that takes connections and says nothing would
//! keep all places for notifications busy, and nobody would get mail. So nothing is sent there for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use url::Origin;

/// So long a service is left alone.
const REST: Duration = Duration::from_secs(60);
/// More are not remembered: then some are asked in vain once more.
const MOST: usize = 10_000;

/// Cheap to clone.
#[derive(Clone, Default)]
pub struct SilentServices(Arc<Mutex<HashMap<Origin, Instant>>>);

impl SilentServices {
    pub fn has(&self, service: &Origin, now: Instant) -> bool {
        let until = self.lock().get(service).copied();
        until.is_some_and(|until| now < until)
    }

    pub fn add(&self, service: Origin, now: Instant) {
        let mut silent = self.lock();
        if silent.len() >= MOST {
            silent.retain(|_, until| now < *until);
        }
        if silent.len() < MOST {
            silent.insert(service, now + REST);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Origin, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Origin {
        url::Url::parse(text).unwrap().origin()
    }

    #[test]
    fn a_service_is_left_alone_for_a_while() {
        let (services, now) = (SilentServices::default(), Instant::now());
        services.add(of("https://push.example/one"), now);
        assert!(services.has(&of("https://push.example/two"), now));
        assert!(!services.has(&of("https://push.example:444/one"), now));
        assert!(!services.has(&of("https://other.example/one"), now));
        assert!(!services.has(&of("https://push.example/one"), now + REST));
    }

    #[test]
    fn many_hosts_take_little() {
        let (services, now) = (SilentServices::default(), Instant::now());
        for number in 0..MOST + 10 {
            services.add(of(&format!("https://{number}.example/")), now);
        }
        assert_eq!(services.lock().len(), MOST);
        services.add(of("https://push.example/"), now + REST);
        assert_eq!(services.lock().len(), 1);
    }
}
