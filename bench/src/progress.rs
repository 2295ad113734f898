//! What the bench does now, for how long it has run, and how long it will still take.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One for the process, as there is one standard error.
static PROGRESS: Mutex<Option<Progress>> = Mutex::new(None);

struct Progress {
    started: Instant,
    /// The parts that are left, the current one first: what they are expected to take, in seconds.
    left: Vec<f64>,
    part_started: Instant,
}

/// The expected seconds of each part, in order.
pub fn start(parts: Vec<f64>) {
    let now = Instant::now();
    with(|progress| {
        *progress = Some(Progress {
            started: now,
            left: parts,
            part_started: now,
        });
    });
}

pub fn part_done() {
    with(|progress| {
        if let Some(progress) = progress
            && !progress.left.is_empty()
        {
            progress.left.remove(0);
            progress.part_started = Instant::now();
        }
    });
}

/// Prints what happens now.
pub fn say(what: &str) {
    with(|progress| match progress {
        Some(progress) => {
            let so_far = minutes(progress.started.elapsed().as_secs_f64());
            let left = minutes(left(&progress.left, progress.part_started.elapsed()));
            eprintln!("bench: {so_far} so far, about {left} left: {what}");
        }
        None => eprintln!("bench: {what}"),
    });
}

fn with<T>(act: impl FnOnce(&mut Option<Progress>) -> T) -> T {
    // Nothing panics while it is locked.
    act(&mut PROGRESS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The expected rest of the current part, and all parts after it.
fn left(parts: &[f64], in_this_part: Duration) -> f64 {
    let Some((current, later)) = parts.split_first() else {
        return 0.0;
    };
    (current - in_this_part.as_secs_f64()).max(0.0) + later.iter().sum::<f64>()
}

fn minutes(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_shrinks_with_the_current_part_and_not_below_what_follows() {
        let parts = [10.0, 5.0, 5.0];
        assert_eq!(left(&parts, Duration::ZERO), 20.0);
        assert_eq!(left(&parts, Duration::from_secs(4)), 16.0);
        assert_eq!(left(&parts, Duration::from_secs(40)), 10.0);
        assert_eq!(left(&[], Duration::from_secs(4)), 0.0);
        assert_eq!(minutes(125.4), "2:05");
    }
}
