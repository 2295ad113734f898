//! Requests of this process that write to the same upload take turns: one that comes asks the one that
//! writes to stop. A phone that lost its connection is back before the server knows of the loss.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as Place, OwnedMutexGuard, watch};

use crate::domain::UploadId;

/// How long to wait for the one that writes. Then the database alone decides between the two.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone, Default)]
pub struct Turns(Arc<Mutex<HashMap<UploadId, Line>>>);

/// Those who write to one upload, or wait.
struct Line {
    place: Arc<Place<()>>,
    waiting: watch::Sender<usize>,
    present: usize,
}

/// Held while a request writes.
pub struct Turn {
    _place: Option<OwnedMutexGuard<()>>,
    waiting: watch::Receiver<usize>,
    _presence: Presence,
}

impl Turns {
    pub async fn take(&self, upload: UploadId) -> Turn {
        let (presence, place, waiting) = self.join(upload);
        waiting.send_modify(|count| *count += 1);
        let place = tokio::time::timeout(PATIENCE, place.lock_owned()).await;
        waiting.send_modify(|count| *count -= 1);
        Turn {
            _place: place.ok(),
            waiting: waiting.subscribe(),
            _presence: presence,
        }
    }

    fn join(&self, upload: UploadId) -> (Presence, Arc<Place<()>>, watch::Sender<usize>) {
        let mut lines = self.lock();
        let line = lines.entry(upload).or_insert_with(|| Line {
            place: Arc::default(),
            waiting: watch::Sender::new(0),
            present: 0,
        });
        line.present += 1;
        let presence = Presence {
            turns: self.clone(),
            upload,
        };
        (presence, line.place.clone(), line.waiting.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<UploadId, Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Waits until another request wants to write.
    pub async fn wanted(&self) {
        let mut waiting = self.waiting.clone();
        if waiting.wait_for(|count| *count > 0).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

struct Presence {
    turns: Turns,
    upload: UploadId,
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut lines = self.turns.lock();
        if let Some(line) = lines.get_mut(&self.upload) {
            line.present -= 1;
            if line.present == 0 {
                lines.remove(&self.upload);
            }
        }
    }
}
