//! Moves live tasks whose deadline has passed, and test tasks when their clock is advanced.

mod test_clock;
mod turns;

pub use test_clock::HeldClock;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};

use crate::ambient::Clock;
use crate::domain::{TaskId, Windows};
use crate::scheduler::turns::Turns;
use crate::store::{Store, StoreError};
use crate::usecases::{self, UseCaseError};
use crate::webhooks::Webhooks;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How many tasks are read at once for each kind of deadline. After a long downtime many are due,
/// and other requests must get their turn.
const FOUND_AT_ONCE: i64 = 100;
const MOVED_AT_ONCE: usize = 4;

/// Cheap to clone.
#[derive(Clone)]
pub struct Scheduler {
    store: Store,
    clock: Clock,
    windows: Windows,
    webhooks: Webhooks,
    /// When it last had made every move that was due; at first, when it was made.
    caught_up_at: Arc<Mutex<Instant>>,
    turns: Turns,
}

impl Scheduler {
    pub fn new(store: Store, clock: Clock, windows: Windows, webhooks: Webhooks) -> Self {
        Self {
            store,
            clock,
            windows,
            webhooks,
            caught_up_at: Arc::new(Mutex::new(Instant::now())),
            turns: Turns::default(),
        }
    }

    pub fn windows(&self) -> &Windows {
        &self.windows
    }

    /// How long ago it last had made every move that was due. No move is later than this.
    pub fn lag(&self) -> Duration {
        self.caught_up_at().elapsed()
    }

    fn caught_up_at(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.caught_up_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs until shutdown. Any number of processes may run it: each move is made once.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            let caught_up = tokio::select! {
                () = &mut shutdown => return,
                caught_up = self.catch_up() => caught_up,
            };
            if let Err(error) = caught_up {
                tracing::warn!(%error, "cannot look for tasks with a passed deadline");
            }
        }
    }

    /// Makes all moves that are due, in batches. Returns how many tasks were moved.
    pub async fn catch_up(&self) -> Result<usize, StoreError> {
        let mut moved = 0;
        loop {
            let (now, windows) = (self.clock.now(), self.windows);
            let due = self
                .store
                .snapshot(move |tx| tx.due_tasks(&windows, now, FOUND_AT_ONCE))
                .await?;
            let moves = stream::iter(due).map(|id| self.move_task(id));
            let moves: Vec<_> = moves.buffer_unordered(MOVED_AT_ONCE).collect().await;
            let made = moves.into_iter().filter(|made| *made).count();
            if made == 0 {
                *self.caught_up_at() = Instant::now();
                return Ok(moved);
            }
            moved += made;
        }
    }

    /// Returns false if nothing was due, or if the move failed.
    async fn move_task(&self, id: TaskId) -> bool {
        let (clock, windows) = (self.clock.clone(), self.windows);
        let moved = self
            .store
            .write(move |tx| usecases::transition_by_clock(tx, id, &windows, clock.now()));
        moved.await.unwrap_or_else(|error: UseCaseError| {
            tracing::warn!(%id, %error, "cannot move a task whose deadline has passed");
            false
        })
    }
}
