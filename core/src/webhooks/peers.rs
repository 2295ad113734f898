//! Which other processes live, by the heartbeats that this one has seen.

use std::collections::HashMap;

use tokio::time::Instant;

use super::DEAD_AFTER;
use crate::domain::Timestamp;
use crate::store::Heartbeat;

/// The clocks of servers differ. So a process that was seen to beat counts as alive until it stops, by
/// this process's own measure. Only of one that was never seen to beat the time in its heartbeat decides:
/// it may have died before this one started.
#[derive(Default)]
pub struct Peers(HashMap<String, Seen>);

struct Seen {
    alive_until: Timestamp,
    /// When this heartbeat was first seen.
    since: Instant,
    /// Whether another one was seen before.
    beats: bool,
}

impl Peers {
    /// Takes note of the heartbeats of all processes. Returns those of the dead ones.
    pub fn dead(
        &mut self,
        heartbeats: Vec<Heartbeat>,
        now: Timestamp,
        at: Instant,
    ) -> Vec<Heartbeat> {
        // One that was taken for dead and lives comes back, so it is remembered for a while.
        self.0
            .retain(|_, seen| at.duration_since(seen.since) < DEAD_AFTER * 10);
        let is_dead = |heartbeat: &Heartbeat| self.is_dead(heartbeat, now, at);
        heartbeats.into_iter().filter(is_dead).collect()
    }

    fn is_dead(&mut self, heartbeat: &Heartbeat, now: Timestamp, at: Instant) -> bool {
        let alive_until = heartbeat.alive_until;
        let first = Seen {
            alive_until,
            since: at,
            beats: false,
        };
        let seen = self.0.entry(heartbeat.process.clone()).or_insert(first);
        if seen.alive_until != alive_until {
            *seen = Seen {
                alive_until,
                since: at,
                beats: true,
            };
        }
        let silent = at.duration_since(seen.since) >= DEAD_AFTER;
        silent || (!seen.beats && alive_until < now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Looks at one process after so many seconds. It says that it lives until `alive_until`.
    struct Watch {
        peers: Peers,
        began: Instant,
    }

    impl Watch {
        fn begin() -> Self {
            Self {
                peers: Peers::default(),
                began: Instant::now(),
            }
        }

        fn is_dead(&mut self, after: u64, alive_until: i64) -> bool {
            let heartbeat = Heartbeat {
                process: "a".to_owned(),
                alive_until: Timestamp::from_millis(alive_until * 1_000),
            };
            let now = Timestamp::from_millis(1_000_000).plus(Duration::from_secs(after));
            let at = self.began + Duration::from_secs(after);
            let dead = self.peers.dead(vec![heartbeat.clone()], now, at);
            assert!(dead.is_empty() || dead == [heartbeat]);
            !dead.is_empty()
        }
    }

    #[test]
    fn one_whose_time_is_over_before_anybody_saw_it_is_dead() {
        assert!(Watch::begin().is_dead(0, 999));
        assert!(!Watch::begin().is_dead(0, 1_000));
    }

    #[test]
    fn one_that_stops_is_dead_after_ten_seconds() {
        let mut watch = Watch::begin();
        for (after, alive_until, dead) in [
            (0, 1_010, false),
            (3, 1_013, false),
            (12, 1_013, false),
            (13, 1_013, true),
        ] {
            assert_eq!(watch.is_dead(after, alive_until), dead, "{after}");
        }
    }

    #[test]
    fn a_clock_that_is_behind_kills_nobody_twice() {
        let mut watch = Watch::begin();
        assert!(watch.is_dead(0, 10), "nobody knows that it beats");
        for after in 1..100 {
            assert!(!watch.is_dead(after * 3, after as i64 * 3 + 10), "{after}");
        }
        assert!(!watch.is_dead(300, 307));
        assert!(watch.is_dead(310, 307), "it has stopped");
    }

    #[test]
    fn a_clock_that_is_ahead_does_not_outlive_its_process() {
        let mut watch = Watch::begin();
        assert!(!watch.is_dead(0, 9_000));
        assert!(!watch.is_dead(9, 9_000));
        assert!(watch.is_dead(10, 9_000));
    }
}
