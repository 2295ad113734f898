//! Winds the clock of a test environment: what would have happened on the way happens, in its order
//! and at its time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{AccountId, TaskId, Timestamp};
use crate::scheduler::Scheduler;
use crate::store::{StoreError, Tx};
use crate::usecases::{self, UseCaseError};

/// How long the answer waits for endpoints that take their time.
const PATIENCE: Duration = Duration::from_secs(20);

impl Scheduler {
    /// Winds the clock until it is so far ahead. Once it returns, everything up to then has happened,
    /// and what was to be delivered has been tried, as far as endpoints answered in time.
    pub async fn wind(&self, account: AccountId, ahead: Duration) -> Result<(), UseCaseError> {
        let deadline = Instant::now() + PATIENCE;
        let windows = self.windows;
        let due = self
            .store
            .snapshot(move |tx| usecases::due_in_test(tx, account, &windows));
        let mut due: BinaryHeap<_> = due.await?.into_iter().map(Reverse).collect();
        loop {
            self.webhooks.settle(account, deadline).await?;
            let to = self.clock.now().plus(ahead);
            let task = due.peek().map(|Reverse(next)| *next);
            let task = task.filter(|(at, _)| *at <= to);
            let delivery = self.next_delivery(account).await?.filter(|at| *at <= to);
            match (task, delivery) {
                (Some((at, id)), delivery) if delivery.is_none_or(|delivery| at <= delivery) => {
                    due.pop();
                    if let Some(next) = self.transition_in_test(account, id, at).await? {
                        due.push(Reverse((next, id)));
                    }
                }
                (_, Some(at)) if Instant::now() < deadline => self.move_to(account, at).await?,
                _ => break,
            }
        }
        self.move_to(account, self.clock.now().plus(ahead)).await?;
        Ok(self.webhooks.settle(account, deadline).await?)
    }

    /// When the next delivery is due, by the clock of the test environment.
    async fn next_delivery(&self, account: AccountId) -> Result<Option<Timestamp>, StoreError> {
        let read = move |tx: &mut Tx<'_>| {
            let next = tx.next_test_delivery(account)?;
            let ahead = tx.test_clock(account)?;
            Ok::<_, StoreError>(next.map(|next| next.plus(ahead)))
        };
        self.store.read(read).await
    }

    async fn transition_in_test(
        &self,
        account: AccountId,
        id: TaskId,
        at: Timestamp,
    ) -> Result<Option<Timestamp>, UseCaseError> {
        let (clock, windows) = (self.clock.clone(), self.windows);
        let act = self.store.write(move |tx| {
            usecases::transition_in_test(tx, account, id, &windows, at, clock.now())
        });
        act.await
    }

    async fn move_to(&self, account: AccountId, to: Timestamp) -> Result<(), UseCaseError> {
        let clock = self.clock.clone();
        let move_clock = self
            .store
            .write(move |tx| usecases::move_test_clock(tx, account, to, clock.now()));
        move_clock.await
    }
}
