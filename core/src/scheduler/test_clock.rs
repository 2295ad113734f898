//! Advances the clock of a test environment. Everything that would have happened on the way
//! happens, in order and at its time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::domain::{AccountId, TaskId, Timestamp};
use crate::scheduler::Scheduler;
use crate::store::{StoreError, Tx};
use crate::usecases::{self, UseCaseError};

/// How long to wait for slow endpoints.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(20);
/// How long an advance waits for those before it.
const TURN_WITHIN: Duration = Duration::from_secs(25);
/// How many moves are held in memory, however many tasks are open.
const FOUND_AT_ONCE: usize = 10_000;

/// The test clock of an account. Nobody else in this process advances it at the same time.
pub struct HeldClock<'a> {
    scheduler: &'a Scheduler,
    account: AccountId,
    _turn: OwnedMutexGuard<()>,
}

impl HeldClock<'_> {
    /// Advances the clock until it is `ahead` of real time. When it returns, everything due by then
    /// has happened, and due deliveries have been tried, except at endpoints that did not respond
    /// in time.
    pub async fn advance(&self, ahead: Duration) -> Result<(), UseCaseError> {
        self.scheduler.advance(self.account, ahead).await
    }
}

impl Scheduler {
    /// Waits until nobody else advances the clock of this account: what is read of it before would be old. Fails if
    /// others take too long.
    pub async fn hold_clock(&self, account: AccountId) -> Result<HeldClock<'_>, StoreError> {
        let turn = tokio::time::timeout(TURN_WITHIN, self.turns.take(account)).await;
        Ok(HeldClock {
            scheduler: self,
            account,
            _turn: turn.map_err(|_| StoreError::Overloaded)?,
        })
    }

    async fn advance(&self, account: AccountId, ahead: Duration) -> Result<(), UseCaseError> {
        let deadline = Instant::now() + DELIVERY_TIMEOUT;
        while self.advance_some(account, ahead, deadline).await? {}
        // By exactly as much as was asked for, however long it took to get there.
        self.move_clock(account, ahead).await?;
        Ok(self.webhooks.settle(account, deadline).await?)
    }

    /// Makes the first moves and deliveries on the way. Returns whether there may be more.
    async fn advance_some(
        &self,
        account: AccountId,
        ahead: Duration,
        deadline: Instant,
    ) -> Result<bool, UseCaseError> {
        let windows = self.windows;
        let due = self
            .store
            .snapshot(move |tx| usecases::due_in_test(tx, account, &windows, FOUND_AT_ONCE));
        let due = due.await?;
        // What was not found comes after the last that was.
        let end = due.last().filter(|_| due.len() == FOUND_AT_ONCE);
        let end = end.map(|(at, _)| *at);
        let mut due: BinaryHeap<_> = due.into_iter().map(Reverse).collect();
        loop {
            self.webhooks.settle(account, deadline).await?;
            let target = self.clock.now().plus(ahead);
            let to = end.map_or(target, |end| end.min(target));
            let task = due.peek().map(|Reverse(next)| *next);
            let task = task.filter(|(at, _)| *at <= to);
            let delivery = match Instant::now() < deadline {
                true => self.next_delivery(account).await?.filter(|at| *at <= to),
                // Tasks do not wait for slow endpoints.
                false => None,
            };
            match (task, delivery) {
                (Some((at, id)), delivery) if delivery.is_none_or(|delivery| at <= delivery) => {
                    due.pop();
                    if let Some(next) = self.transition_in_test(account, id, at).await? {
                        due.push(Reverse((next, id)));
                    }
                }
                (_, Some(at)) => {
                    let ahead = at.since(self.clock.now());
                    self.move_clock(account, ahead).await?;
                }
                _ => return Ok(end.is_some_and(|end| end <= target)),
            }
        }
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

    async fn move_clock(&self, account: AccountId, ahead: Duration) -> Result<(), UseCaseError> {
        let clock = self.clock.clone();
        let advance = self
            .store
            .write(move |tx| usecases::advance_test_clock(tx, account, ahead, clock.now()));
        advance.await
    }
}
