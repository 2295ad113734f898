//! Limits concurrent deliveries, so that slow endpoints do not hold up fast ones.

use std::time::Duration;

use tokio::sync::Semaphore;

/// Slots for deliveries that have just started.
const PROMPT: usize = 256;
/// Slots for slow deliveries.
const SLOW: usize = 4_096;
/// After this time a delivery counts as slow.
const SLOW_AFTER: Duration = Duration::from_secs(1);

pub struct Slots {
    prompt: Semaphore,
    slow: Semaphore,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            prompt: Semaphore::new(PROMPT),
            slow: Semaphore::new(SLOW),
        }
    }
}

impl Slots {
    /// Waits for a slot and runs the work. Slow work moves to a slow slot, if one is free, and
    /// makes room for others.
    pub async fn work<T>(&self, work: impl Future<Output = T>) -> T {
        let prompt = self.prompt.acquire().await;
        tokio::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(SLOW_AFTER) => {}
        }
        let slow = tokio::select! {
            biased;
            done = &mut work => return done,
            slow = self.slow.acquire() => slow,
        };
        drop(prompt);
        let done = work.await;
        drop(slow);
        done
    }
}
