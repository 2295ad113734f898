//! What happens by the clock: to live tasks when their time has come, in a test environment when its
//! clock is wound.

mod test_clock;

use std::time::Duration;

use futures_util::{StreamExt, stream};

use crate::ambient::Clock;
use crate::domain::{TaskId, Windows};
use crate::store::{Store, StoreError};
use crate::usecases::{self, UseCaseError};
use crate::webhooks::Webhooks;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many tasks are found at once, for each reason: a process that slept for a week has much to do,
/// and others have work too.
const FOUND_AT_ONCE: i64 = 100;
const MOVED_AT_ONCE: usize = 4;

/// Cheap to clone.
#[derive(Clone)]
pub struct Scheduler {
    store: Store,
    clock: Clock,
    windows: Windows,
    webhooks: Webhooks,
}

impl Scheduler {
    pub fn new(store: Store, clock: Clock, windows: Windows, webhooks: Webhooks) -> Self {
        Self {
            store,
            clock,
            windows,
            webhooks,
        }
    }

    pub fn windows(&self) -> &Windows {
        &self.windows
    }

    /// Keeps time until shutdown. Any number of processes may: each move is made once.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            let caught_up = tokio::select! {
                () = &mut shutdown => return,
                caught_up = self.catch_up() => caught_up,
            };
            if let Err(error) = caught_up {
                tracing::warn!(%error, "cannot look for tasks whose time has come");
            }
        }
    }

    /// Does everything whose time has come, in batches; tells how many tasks were moved.
    pub async fn catch_up(&self) -> Result<usize, StoreError> {
        let mut moved = 0;
        loop {
            let (now, windows) = (self.clock.now(), self.windows);
            let due = self
                .store
                .snapshot(move |tx| tx.due_tasks(&windows, now, FOUND_AT_ONCE))
                .await?;
            let moves = stream::iter(due).map(|id| self.act(id));
            let moves: Vec<_> = moves.buffer_unordered(MOVED_AT_ONCE).collect().await;
            let made = moves.into_iter().filter(|made| *made).count();
            if made == 0 {
                return Ok(moved);
            }
            moved += made;
        }
    }

    /// False when there was nothing to do, or it could not be done now.
    async fn act(&self, id: TaskId) -> bool {
        let (clock, windows) = (self.clock.clone(), self.windows);
        let act = self
            .store
            .write(move |tx| usecases::transition_by_clock(tx, id, &windows, clock.now()));
        act.await.unwrap_or_else(|refusal: UseCaseError| {
            tracing::warn!(%id, %refusal, "a task whose time has come stays as it is");
            false
        })
    }
}
