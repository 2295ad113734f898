//! Who may wait for the database, and for a processor (`backlog.rs`).
//!
//! When more comes than the database can do, a queue grows until every request waits for as long as it
//! may, and then fails. So a request is refused at once, before any work is spent on it, while many
//! transactions wait and the oldest of them has waited long. What was admitted is served: the queue stays
//! as short as the target, and the database never runs out of work.
//!
//! Only the first transaction of a request can be refused. Work outside of requests is always admitted:
//! there is little of it at a time, and it must go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use metrics::counter;

use crate::store::engine::{StoreError, backlog, deadline};

/// So many may wait, for however long: a database that pauses is not overloaded by a few.
const FEW: usize = 128;
/// The counts are read one after the other, while others come and go. More threads than this are hardly ever in between.
const IN_BETWEEN: usize = 16;
/// Between two counts many may leave and as many come, so that they look old. That happens once, hardly three times in a row.
const LOOKS: usize = 3;
/// Waiting is counted by the period in which it began. When somebody has waited since the period before
/// the last, the oldest has waited for one to two of them.
const PERIOD: Duration = Duration::from_millis(100);
/// Longer than any request may wait.
const PERIODS: usize = 1_024;

/// Admits a lookup that waits in no queue.
pub fn admit_inline() -> Result<(), StoreError> {
    admit_to_processors(Instant::now())
}

/// Only what a request asks first can be refused: later, its work would be thrown away.
fn admit_to_processors(now: Instant) -> Result<(), StoreError> {
    if deadline::begins_a_request() && backlog::is_long(now) {
        return Err(refused());
    }
    Ok(())
}

fn refused() -> StoreError {
    counter!("legwork_overload_refusals_total").increment(1);
    StoreError::Overloaded
}

/// The admission to one queue. Cheap to clone.
#[derive(Clone)]
pub struct Admission(Arc<Counts>);

struct Counts {
    opened: Instant,
    waiting: AtomicUsize,
    /// Of those, by the period in which they came. Used again and again.
    by_period: Box<[AtomicUsize]>,
}

impl Default for Admission {
    fn default() -> Self {
        Self(Arc::new(Counts {
            opened: Instant::now(),
            waiting: AtomicUsize::new(0),
            by_period: (0..PERIODS).map(|_| AtomicUsize::new(0)).collect(),
        }))
    }
}

impl Admission {
    /// A place in the queue for a transaction, unless it comes from a request and too much waits.
    pub fn admit(&self) -> Result<Place, StoreError> {
        let place = self.admit_lookup()?;
        deadline::admit_request();
        Ok(place)
    }

    /// Refuses a request that would come to this queue next, before it waits in another one in vain.
    pub fn expects_to_admit(&self) -> Result<(), StoreError> {
        if deadline::is_first_of_a_request() && self.is_overloaded(Instant::now()) {
            return Err(refused());
        }
        Ok(())
    }

    /// A place for a lookup, which comes before the transactions of a request. It does not admit the
    /// request: they may wait in another queue.
    pub fn admit_lookup(&self) -> Result<Place, StoreError> {
        self.expects_to_admit()?;
        let now = Instant::now();
        admit_to_processors(now)?;
        Ok(self.enter(now))
    }

    fn is_overloaded(&self, now: Instant) -> bool {
        (0..LOOKS).all(|_| self.looks_overloaded(now))
    }

    fn looks_overloaded(&self, now: Instant) -> bool {
        let counts = &*self.0;
        let waiting = counts.waiting.load(Ordering::Relaxed);
        if waiting < FEW {
            return false;
        }
        let period = counts.period(now);
        let of = |period: usize| counts.by_period[period % PERIODS].load(Ordering::Relaxed);
        // The period may have ended since the clock was read.
        let recent = of(period) + of(period + PERIODS - 1) + of(period + 1);
        // Whoever has left meanwhile has not waited long.
        let waiting = waiting.min(counts.waiting.load(Ordering::Relaxed));
        waiting > recent + IN_BETWEEN
    }

    fn enter(&self, now: Instant) -> Place {
        let period = self.0.period(now) % PERIODS;
        self.0.waiting.fetch_add(1, Ordering::Relaxed);
        self.0.by_period[period].fetch_add(1, Ordering::Relaxed);
        Place {
            counts: self.0.clone(),
            period,
        }
    }
}

impl Counts {
    fn period(&self, now: Instant) -> usize {
        let since = now.saturating_duration_since(self.opened);
        (since.as_millis() / PERIOD.as_millis()) as usize
    }
}

/// Held while a transaction waits.
pub struct Place {
    counts: Arc<Counts>,
    period: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.counts.by_period[self.period].fetch_sub(1, Ordering::Relaxed);
        self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(admission: &Admission, count: usize, at: Instant) -> Vec<Place> {
        (0..count).map(|_| admission.enter(at)).collect()
    }

    #[test]
    fn many_may_come_at_once() {
        let admission = Admission::default();
        let now = Instant::now();
        let _waiting = fill(&admission, 10_000, now);
        assert!(!admission.is_overloaded(now));
        assert!(!admission.is_overloaded(now + PERIOD));
    }

    #[test]
    fn many_who_have_waited_long_are_an_overload_until_they_are_served() {
        let admission = Admission::default();
        let begun = Instant::now();
        let first = fill(&admission, FEW, begun);
        let late = begun + 2 * PERIOD;
        let _others = fill(&admission, FEW, late);
        assert!(admission.is_overloaded(late));
        assert!(admission.is_overloaded(late + 7 * PERIOD));
        drop(first);
        assert!(!admission.is_overloaded(late));
    }

    #[test]
    fn many_who_come_and_go_are_no_overload() {
        let admission = Admission::default();
        let now = Instant::now();
        let _waiting = fill(&admission, FEW, now);
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        drop(fill(&admission, 64, now));
                    }
                });
            }
            let refused = (0..200_000)
                .filter(|_| admission.is_overloaded(now))
                .count();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(refused, 0);
        });
    }

    #[test]
    fn a_few_may_wait_for_ever() {
        let admission = Admission::default();
        let begun = Instant::now();
        let _waiting = fill(&admission, FEW - 1, begun);
        assert!(!admission.is_overloaded(begun + 100 * PERIOD));
    }
}
