//! The signal that tells every part of the service to stop.

use tokio::sync::watch;

/// Cheap to clone. All clones get the signal.
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
        // `self` keeps the sender alive, so waiting cannot fail.
        let _ = watched.wait_for(|stopping| *stopping).await;
    }
}
