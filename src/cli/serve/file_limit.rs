//! How many files this process may have open. Every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the database, stored files, metrics and calls to others may need beside connections.
const BESIDE_CONNECTIONS: u64 = 1_024;

/// Raises the limit as far as the system allows, and returns it. Many systems start programs with a
/// low one for the sake of old programs, which ask for more if they can take it.
pub fn raise_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised,
        Err(_) => limit,
    };
    limit.current.unwrap_or(u64::MAX)
}

/// The limit that so many connections need.
pub fn needed(connections: usize) -> u64 {
    connections as u64 + BESIDE_CONNECTIONS
}

/// How many connections may be open under a limit: at most as many as wanted.
pub fn connections_within(limit: u64, wanted: usize) -> usize {
    let possible = limit.saturating_sub(BESIDE_CONNECTIONS).max(limit / 2);
    wanted.min(usize::try_from(possible).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_other_files() {
        assert_eq!(connections_within(u64::MAX, 10_000), 10_000);
        assert_eq!(connections_within(needed(10_000), 10_000), 10_000);
        assert_eq!(connections_within(needed(10_000) - 1, 10_000), 9_999);
        assert_eq!(connections_within(1_024, 10_000), 512);
        assert_eq!(connections_within(4_096, 10_000), 3_072);
    }
}
