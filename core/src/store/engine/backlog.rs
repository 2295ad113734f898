//! Whether requests wait for a processor.
//!
//! A request that has arrived waits in its connection until a thread of the runtime gets to it, and no queue
//! of ours sees that. So a probe takes a place at the end of the runtime's queue from time to time and tells
//! how long it took to come through. When that was long, and many are still behind it, more comes than the
//! processors can do: then requests are refused before work is spent on them, for as long as it takes to
//! catch up. The probes are sent by requests, so an idle server sends none.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// Between probes.
const PERIOD: Duration = Duration::from_millis(10);
/// So long a place in the queue may take.
const LATE: Duration = Duration::from_millis(40);
/// With fewer behind it, the probe was late for another reason: somebody else used the processors.
const MANY: usize = 128;
/// So long requests are refused after a late probe, unless another one is late too.
const CATCH_UP: Duration = Duration::from_millis(20);

static BACKLOG: LazyLock<Backlog> = LazyLock::new(Backlog::new);

/// Times are milliseconds since it was opened.
struct Backlog {
    opened: Instant,
    next_probe: AtomicU64,
    long_until: AtomicU64,
}

/// Whether too many requests wait.
pub fn is_long(now: Instant) -> bool {
    let backlog = &*BACKLOG;
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
    fn new() -> Self {
        Self {
            opened: Instant::now(),
            next_probe: AtomicU64::new(0),
            long_until: AtomicU64::new(0),
        }
    }

    fn takes_turn_to_probe(&self, now: Instant) -> bool {
        let (now, due) = (self.millis(now), self.next_probe.load(Ordering::Relaxed));
        let next = now + PERIOD.as_millis() as u64;
        now >= due
            && self
                .next_probe
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    fn came_through(&self, woken: Instant, now: Instant, behind: usize) {
        if now.saturating_duration_since(woken) >= LATE && behind >= MANY {
            let until = self.millis(now + CATCH_UP);
            self.long_until.store(until, Ordering::Relaxed);
        }
    }

    fn is_long(&self, now: Instant) -> bool {
        self.millis(now) < self.long_until.load(Ordering::Relaxed)
    }

    fn millis(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.opened).as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_probe_with_many_behind_it_is_a_backlog_until_it_is_caught_up() {
        let backlog = Backlog::new();
        let now = backlog.opened + Duration::from_secs(1);
        backlog.came_through(now - LATE, now, MANY);
        assert!(backlog.is_long(now));
        assert!(!backlog.is_long(now + CATCH_UP));
    }

    #[test]
    fn many_who_come_through_in_time_are_no_backlog() {
        let backlog = Backlog::new();
        let now = backlog.opened + Duration::from_secs(1);
        let in_time = now - LATE + Duration::from_millis(1);
        backlog.came_through(in_time, now, 10_000);
        assert!(!backlog.is_long(now));
    }

    #[test]
    fn few_are_no_backlog_however_late() {
        let backlog = Backlog::new();
        let now = backlog.opened + Duration::from_secs(60);
        backlog.came_through(backlog.opened, now, MANY - 1);
        assert!(!backlog.is_long(now));
    }

    #[test]
    fn one_of_many_requests_sends_the_probe() {
        let backlog = Backlog::new();
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
        let backlog: &'static Backlog = Box::leak(Box::new(Backlog::new()));
        let (wake, woken) = tokio::sync::oneshot::channel();
        let probed = runtime.spawn(probe(backlog, woken));
        let (held, is_held) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        runtime.spawn(async move {
            held.send(()).unwrap();
            released.recv().unwrap();
        });
        is_held.recv().unwrap();
        wake.send(Instant::now() - LATE).unwrap();
        for _ in 0..4 * MANY {
            runtime.spawn(async {});
        }
        release.send(()).unwrap();
        runtime.block_on(probed).unwrap();
        assert!(backlog.long_until.load(Ordering::Relaxed) > 0);
    }
}
