//! How much goes on at once in this process: so that slow endpoints do not hold up the prompt ones.

use std::time::Duration;

use tokio::sync::Semaphore;

/// Exchanges that are young.
const PROMPT: usize = 256;
/// Exchanges that take their time.
const SLOW: usize = 4_096;
/// How long an exchange counts as young.
const PATIENCE: Duration = Duration::from_secs(1);

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
    /// Waits for a slot and works. Who takes long makes room for others, as long as there are not
    /// too many who do.
    pub async fn work<T>(&self, work: impl Future<Output = T>) -> T {
        let prompt = self.prompt.acquire().await;
        tokio::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(PATIENCE) => {}
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
