//! Waiting for what other programs and threads do. Nothing here waits for a fixed time.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// So long that it ends only in a test that fails.
const NEVER: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A runtime with more than one thread, like that of the program.
pub fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Looks again and again until something is found.
pub async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let found = tokio::time::timeout(NEVER, found).await;
    found.unwrap_or_else(|_| panic!("never happened: {what}"))
}

/// Asks again and again until it is so.
pub async fn eventually<F: Future<Output = bool>>(what: &str, mut ask: impl FnMut() -> F) {
    until(what, || {
        let asked = ask();
        async { asked.await.then_some(()) }
    })
    .await;
}
