//! Whom pushes are not sent to right now. Workers name the push services themselves, and pushes share their places with
//! mail: none of them may take all places.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use url::Origin;

use crate::domain::WorkerId;
use crate::jobs::NOTIFICATIONS_AT_ONCE;
use crate::outbound::Resting;

/// How many are sent at once to the browsers of a worker.
const MOST_TO_ONE: usize = 4;
/// How many are sent at once in all. The other places are for mail, so that not even several workers together delay any.
const MOST: usize = NOTIFICATIONS_AT_ONCE - 4;

/// Cheap to clone.
#[derive(Clone, Default)]
pub struct Pushes {
    /// Services that do not answer.
    pub silent: Resting<Origin>,
    by_worker: Arc<Mutex<HashMap<WorkerId, usize>>>,
}

impl Pushes {
    /// None if as many as may be are on their way.
    pub fn begin(&self, worker: WorkerId) -> Option<Push> {
        let mut by_worker = self.lock();
        if by_worker.values().sum::<usize>() >= MOST {
            return None;
        }
        let sent = by_worker.entry(worker).or_insert(0);
        if *sent >= MOST_TO_ONE {
            return None;
        }
        *sent += 1;
        let pushes = self.clone();
        Some(Push { pushes, worker })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WorkerId, usize>> {
        self.by_worker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// One on its way; dropping it makes room.
pub struct Push {
    pushes: Pushes,
    worker: WorkerId,
}

impl Drop for Push {
    fn drop(&mut self) {
        let mut by_worker = self.pushes.lock();
        if let Some(sent) = by_worker.get_mut(&self.worker) {
            *sent -= 1;
            if *sent == 0 {
                by_worker.remove(&self.worker);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;

    #[test]
    fn a_worker_has_only_a_few_on_their_way() {
        let pushes = Pushes::default();
        let worker = |byte| WorkerId::new(Timestamp::from_millis(0), &[byte; 10]);
        let held: Vec<_> = (0..MOST_TO_ONE).map(|_| pushes.begin(worker(1))).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(pushes.begin(worker(1)).is_none() && pushes.begin(worker(2)).is_some());
        drop(held);
        assert!(pushes.lock().is_empty() && pushes.begin(worker(1)).is_some());
    }

    #[test]
    fn some_places_are_for_mail() {
        let pushes = Pushes::default();
        let worker = |byte| WorkerId::new(Timestamp::from_millis(0), &[byte; 10]);
        let held: Vec<_> = (0..99).filter_map(|n| pushes.begin(worker(n))).collect();
        assert_eq!(held.len(), MOST);
    }
}
