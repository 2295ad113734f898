//! The signal that tells every part of the service to stop.

use tokio::sync::watch;

/// Cheap to clone. All clones get the signal.
#[derive(Clone)]
pub struct Shutdown(watch::Sender<Stage>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    /// Still serving, but whoever distributes requests is told to send no more.
    Draining,
    Stopping,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self(watch::Sender::new(Stage::Running))
    }
}

impl Shutdown {
    /// From now on the service says that it is not ready.
    pub fn drain(&self) {
        self.reach(Stage::Draining);
    }

    pub fn start(&self) {
        self.reach(Stage::Stopping);
    }

    /// There is no way back.
    fn reach(&self, stage: Stage) {
        self.0.send_if_modified(|current| {
            let further = stage > *current;
            *current = stage.max(*current);
            further
        });
    }

    /// Whether requests should go elsewhere.
    pub fn is_draining(&self) -> bool {
        *self.0.borrow() >= Stage::Draining
    }

    pub async fn started(&self) {
        let mut watched = self.0.subscribe();
        // `self` keeps the sender alive, so waiting cannot fail.
        let _ = watched.wait_for(|stage| *stage == Stage::Stopping).await;
    }
}
