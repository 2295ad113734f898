//! Tells every part of the service to stop.

use tokio::sync::watch;

/// Cheap to clone; all clones are told.
#[derive(Clone)]
pub struct Shutdown(watch::Sender<bool>);

impl Default for Shutdown {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Shutdown {
    pub fn start(&self) {
        self.0.send_replace(true);
    }

    pub async fn started(&self) {
        let mut watched = self.0.subscribe();
        // The sender lives in `self`: waiting cannot fail.
        let _ = watched.wait_for(|stopping| *stopping).await;
    }
}
