//! How much of the log a caller fills. What a rate limit refuses costs its sender some bytes each. Of such requests the
//! log has one a second for each caller, and the line says how many were left out before it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::api::middleware::notes::Who;
use crate::limits::{ClientAddress, Network};

const EVERY: Duration = Duration::from_secs(1);
/// About a megabyte.
const MAX_CALLERS: usize = 10_000;

/// Who is told about in one line a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    Known(Who),
    Stranger(Network),
    /// All for whom there was no room.
    Others,
}

impl Caller {
    pub fn of(who: Option<Who>, client: ClientAddress) -> Self {
        match who {
            Some(who) => Self::Known(who),
            None => Self::Stranger(client.network()),
        }
    }
}

pub struct LogLimits {
    max_callers: usize,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    lines: HashMap<Caller, Line>,
    swept_at: Option<Instant>,
    /// What was left out and no line has told.
    untold: u64,
}

/// The last one that was written.
struct Line {
    at: Instant,
    left_out_since: u64,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self::with_room_for(MAX_CALLERS)
    }
}

impl LogLimits {
    fn with_room_for(max_callers: usize) -> Self {
        Self {
            max_callers,
            written: Mutex::default(),
        }
    }

    /// How many were left out since the line before, if this one is written. None if it is left out as well.
    pub fn line(&self, caller: Caller, now: Instant) -> Option<u64> {
        let mut written = self.lock();
        let place = written.place(caller, self.max_callers, now);
        let first = Line {
            at: now,
            left_out_since: 0,
        };
        let Some(line) = written.lines.get_mut(&place) else {
            written.lines.insert(place, first);
            return Some(0);
        };
        if is_recent(line, now) {
            line.left_out_since += 1;
            return None;
        }
        Some(std::mem::replace(line, first).left_out_since)
    }

    /// Drops the callers of whom no line is recent. Returns how many of their requests were left out after the last one.
    pub fn forget_idle(&self, now: Instant) -> u64 {
        let mut written = self.lock();
        written.sweep(now);
        written.lines.shrink_to(MAX_CALLERS / 10);
        std::mem::take(&mut written.untold)
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Written {
    fn place(&mut self, caller: Caller, max_callers: usize, now: Instant) -> Caller {
        let is_full = |it: &Self| it.lines.len() >= max_callers && !it.lines.contains_key(&caller);
        let swept = |at: Instant| now.saturating_duration_since(at) < EVERY;
        if is_full(self) && !self.swept_at.is_some_and(swept) {
            self.sweep(now);
        }
        match is_full(self) {
            true => Caller::Others,
            false => caller,
        }
    }

    fn sweep(&mut self, now: Instant) {
        let untold = &mut self.untold;
        self.lines.retain(|_, line| {
            let stays = is_recent(line, now);
            if !stays {
                *untold += line.left_out_since;
            }
            stays
        });
        self.swept_at = Some(now);
    }
}

fn is_recent(line: &Line, now: Instant) -> bool {
    now.saturating_duration_since(line.at) < EVERY
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::domain::{AccountId, ApiKeyId, Environment, Owner, Timestamp};

    fn client(number: u32) -> ClientAddress {
        ClientAddress::from(IpAddr::V4(Ipv4Addr::from_bits(number)))
    }

    fn stranger(number: u32) -> Caller {
        Caller::of(None, client(number))
    }

    #[test]
    fn one_line_a_second_tells_of_all() {
        let (limits, start) = (LogLimits::default(), Instant::now());
        let at = |millis: u64| limits.line(stranger(1), start + Duration::from_millis(millis));
        assert_eq!(at(0), Some(0));
        for millis in 1..1_000 {
            assert_eq!(at(millis), None);
        }
        assert_eq!(limits.line(stranger(2), start), Some(0));
        assert_eq!(at(1_000), Some(999));
        assert_eq!(at(1_001), None);
        assert_eq!(at(5_000), Some(1));
        assert_eq!(at(9_000), Some(0));
    }

    #[test]
    fn each_key_is_a_caller_from_wherever_it_asks() {
        let id = |number: u8| ApiKeyId::new(Timestamp::from_millis(1), &[number; 10]);
        let key = |environment, number| {
            let account = AccountId::new(Timestamp::from_millis(1), &[1; 10]);
            Who::Key(
                Owner {
                    account,
                    environment,
                },
                id(number),
            )
        };
        let (limits, now) = (LogLimits::default(), Instant::now());
        let line = |who, from| limits.line(Caller::of(Some(who), client(from)), now);
        assert_eq!(line(key(Environment::Live, 1), 1), Some(0));
        assert_eq!(line(key(Environment::Live, 1), 2), None);
        assert_eq!(line(key(Environment::Test, 2), 2), Some(0));
    }

    #[test]
    fn more_callers_than_there_is_room_for_share_a_line() {
        let (limits, start) = (LogLimits::with_room_for(3), Instant::now());
        let lines = |now| {
            let lines = (0..1_000).filter_map(|number| limits.line(stranger(number), now));
            lines.count()
        };
        assert_eq!(lines(start), 4);
        assert_eq!(limits.lock().lines.len(), 4);
        // What nobody was told of is told once.
        let later = start + 2 * EVERY;
        assert_eq!(limits.forget_idle(later), 996);
        assert_eq!(limits.forget_idle(later), 0);
        assert!(limits.lock().lines.is_empty());
        assert_eq!(lines(later), 4);
    }
}
