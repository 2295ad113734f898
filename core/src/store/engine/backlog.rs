//! Whether requests wait for a processor.
//!
//! A request that has arrived waits in its connection until a thread of the runtime gets to it, and no queue
//! of ours sees that. So a probe takes a place at the end of the runtime's queue from time to time and tells
//! how long it took to come through. When that has been long for a while, and many are still behind it, more
//! comes than the processors can do: then requests are refused before work is spent on them, for as long as
//! it takes to catch up. Many who come at once are served. The probes are sent by requests, so an idle server
//! sends none.
//!
//! The queue is that of the whole process. So only a program that does nothing else turns this on: in another
//! one, what keeps the processors busy need not be requests, or not those of the same server.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::Location;

/// Between probes.
const PERIOD: Duration = Duration::from_millis(10);
/// So long a place in the queue may take. With PostgreSQL a request comes through the queue several times.
const LATE: Duration = Duration::from_millis(40);
const LATE_WITH_POSTGRES: Duration = Duration::from_millis(25);
/// With fewer behind it, the probe was late for another reason: somebody else used the processors.
const MANY: usize = 128;
/// So long probes may be late, and so many may come meanwhile, before anybody is refused: many may come at once.
const BURST: Duration = Duration::from_secs(1);
const AT_ONCE: u64 = 2_000;
/// After so long without a late probe, the next one begins another burst.
const CALM: Duration = Duration::from_millis(250);
/// So long requests are refused after a late probe, unless another one is late too.
const CATCH_UP: Duration = Duration::from_millis(20);

static BACKLOG: OnceLock<Backlog> = OnceLock::new();

/// Times are milliseconds since it was opened.
struct Backlog {
    opened: Instant,
    late: Duration,
    next_probe: AtomicU64,
    /// Since when probes are late, and when the last one was.
    late_since: AtomicU64,
    last_late: AtomicU64,
    /// Requests since probes are late. Counted only then, so that calm threads share nothing that changes.
    came: AtomicU64,
    long_until: AtomicU64,
}

/// From now on requests to this process may be refused for want of processors.
pub fn watch_processors(location: &Location) {
    let late = match location {
        Location::Sqlite { .. } => LATE,
        Location::Postgres { .. } => LATE_WITH_POSTGRES,
    };
    BACKLOG.get_or_init(|| Backlog::new(late));
}

/// Whether too many requests wait.
pub fn is_long(now: Instant) -> bool {
    let Some(backlog) = BACKLOG.get() else {
        return false;
    };
    if backlog.takes_turn_to_probe(now)
        && let Ok(runtime) = Handle::try_current()
    {
        // A task that is woken by one of the runtime's own threads may run next. Woken by another thread, it
        // goes to the end of the queue.
        let woken = async { tokio::task::spawn_blocking(Instant::now).await };
        runtime.spawn(probe(backlog, woken));
    }
    backlog.is_long(now)
}

async fn probe<E>(backlog: &Backlog, woken: impl Future<Output = Result<Instant, E>>) {
    let Ok(woken) = woken.await else {
        return;
    };
    let behind = Handle::current().metrics().global_queue_depth();
    backlog.came_through(woken, Instant::now(), behind);
}

impl Backlog {
    fn new(late: Duration) -> Self {
        Self {
            opened: Instant::now(),
            late,
            next_probe: AtomicU64::new(0),
            late_since: AtomicU64::new(0),
            last_late: AtomicU64::new(0),
            came: AtomicU64::new(0),
            long_until: AtomicU64::new(0),
        }
    }

    fn takes_turn_to_probe(&self, now: Instant) -> bool {
        let (now, due) = (self.millis(now), self.next_probe.load(Ordering::Relaxed));
        let next = now + millis(PERIOD);
        now >= due
            && self
                .next_probe
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    fn came_through(&self, woken: Instant, now: Instant, behind: usize) {
        if now.saturating_duration_since(woken) < self.late || behind < MANY {
            return;
        }
        let now = self.millis(now);
        if !self.was_late(now) {
            self.late_since.store(now, Ordering::Relaxed);
            self.came.store(0, Ordering::Relaxed);
        }
        self.last_late.store(now, Ordering::Relaxed);
        let late_for = now.saturating_sub(self.late_since.load(Ordering::Relaxed));
        if late_for >= millis(BURST) || self.came.load(Ordering::Relaxed) >= AT_ONCE {
            let until = now + millis(CATCH_UP);
            self.long_until.store(until, Ordering::Relaxed);
        }
    }

    /// Counts the request that asks.
    fn is_long(&self, now: Instant) -> bool {
        let now = self.millis(now);
        if self.was_late(now) {
            self.came.fetch_add(1, Ordering::Relaxed);
        }
        now < self.long_until.load(Ordering::Relaxed)
    }

    fn was_late(&self, now: u64) -> bool {
        now.saturating_sub(self.last_late.load(Ordering::Relaxed)) <= millis(CALM)
    }

    fn millis(&self, at: Instant) -> u64 {
        millis(at.saturating_duration_since(self.opened))
    }
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Late probes, one every 50 ms, from a second after the start. Tells when the last one came through.
    fn late(backlog: &Backlog, count: u32, behind: usize) -> Instant {
        let begun = backlog.opened + Duration::from_secs(1);
        let times = (0..count).map(|n| begun + n * Duration::from_millis(50));
        times.fold(begun, |_, now| {
            backlog.came_through(now - LATE, now, behind);
            now
        })
    }

    #[test]
    fn probes_that_stay_late_are_a_backlog_until_it_is_caught_up() {
        let backlog = Backlog::new(LATE);
        let now = late(&backlog, 21, MANY);
        assert!(backlog.is_long(now));
        assert!(!backlog.is_long(now + CATCH_UP));
        // The next late one is enough, while the last was not long ago.
        let soon = now + CALM;
        backlog.came_through(soon - LATE, soon, MANY);
        assert!(backlog.is_long(soon));
    }

    #[test]
    fn a_burst_is_no_backlog() {
        let backlog = Backlog::new(LATE);
        let now = late(&backlog, 20, 10_000);
        assert!(!backlog.is_long(now));
        // Nor is another one, after a pause.
        let later = now + CALM + Duration::from_millis(1);
        backlog.came_through(later - LATE, later, 10_000);
        assert!(!backlog.is_long(later));
    }

    /// Many of them, over a time in which so many cannot have come at once.
    #[test]
    fn a_flood_is_a_backlog_before_the_second_is_over() {
        let backlog = Backlog::new(LATE);
        let now = late(&backlog, 1, MANY);
        for _ in 0..AT_ONCE {
            assert!(!backlog.is_long(now));
        }
        let next = now + PERIOD;
        backlog.came_through(next - LATE, next, MANY);
        assert!(backlog.is_long(next));
        // Those of one flood are not counted in the next.
        let later = next + CALM + Duration::from_millis(1);
        assert!(!backlog.is_long(later));
        backlog.came_through(later - LATE, later, MANY);
        assert!(!backlog.is_long(later));
    }

    #[test]
    fn many_who_come_through_in_time_are_no_backlog() {
        let backlog = Backlog::new(LATE);
        let begun = backlog.opened + Duration::from_secs(1);
        for n in 0..100 {
            let now = begun + n * Duration::from_millis(50);
            let in_time = now - LATE + Duration::from_millis(1);
            backlog.came_through(in_time, now, 10_000);
            assert!(!backlog.is_long(now));
        }
    }

    #[test]
    fn few_are_no_backlog_however_late() {
        let backlog = Backlog::new(LATE);
        let now = late(&backlog, 100, MANY - 1);
        assert!(!backlog.is_long(now));
    }

    #[test]
    fn one_of_many_requests_sends_the_probe() {
        let backlog = Backlog::new(LATE);
        let now = backlog.opened + Duration::from_secs(1);
        assert!(backlog.takes_turn_to_probe(now));
        assert!(!backlog.takes_turn_to_probe(now));
        assert!(backlog.takes_turn_to_probe(now + PERIOD));
    }

    /// One thread, which is held until all are in the queue.
    #[test]
    fn a_probe_sees_who_is_behind_it() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let opened = Instant::now() - 2 * LATE;
        let backlog: &'static Backlog = Box::leak(Box::new(Backlog {
            opened,
            ..Backlog::new(LATE)
        }));
        let (wake, woken) = tokio::sync::oneshot::channel();
        let probed = runtime.spawn(probe(backlog, woken));
        let (held, is_held) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        runtime.spawn(async move {
            held.send(()).unwrap();
            released.recv().unwrap();
        });
        is_held.recv().unwrap();
        wake.send(opened).unwrap();
        for _ in 0..4 * MANY {
            runtime.spawn(async {});
        }
        release.send(()).unwrap();
        runtime.block_on(probed).unwrap();
        assert!(backlog.last_late.load(Ordering::Relaxed) > 0);
    }
}
