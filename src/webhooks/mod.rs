//! Deliveries to developers' endpoints: signed, in order for each task, tried again.
//!
//! An endpoint is served by one process at a time, which claims it, makes what is due and gives it
//! back. A process says every few seconds that it lives; what a dead one served goes to others. So a
//! delivery is made at least once, and an endpoint never sees more than a few at a time.

mod endpoint;
mod exchange;
mod slots;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use slots::Slots;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout, timeout_at};

use crate::ambient::{self, Clock};
use crate::domain::accounts::api_key::hex;
use crate::domain::{AccountId, Attempt, EventId, EventType};
use crate::outbound::Outbound;
use crate::store::{Endpoint, Store, StoreError, Tx};

/// How many endpoints a process serves at the same time.
const ENDPOINTS_AT_ONCE: usize = 4_096;
/// How often a process looks for what nobody told it of: what other processes wrote, and what is due
/// again.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Under load every commit rings: not every ring is worth a look of its own.
const PAUSE: Duration = Duration::from_millis(5);
const BEAT_EVERY: Duration = Duration::from_secs(3);
/// A process that has not said for so long that it lives is dead.
const DEAD_AFTER: Duration = Duration::from_secs(10);
/// How long exchanges may go on once the service is asked to stop; what is cut off is made again.
const GRACE: Duration = Duration::from_secs(10);

/// Cheap to clone.
#[derive(Clone)]
pub struct Webhooks(Arc<Parts>);

struct Parts {
    store: Store,
    clock: Clock,
    outbound: Outbound,
    /// When a failed delivery is tried again.
    delays: Vec<Duration>,
    /// The name of this process.
    process: String,
    slots: Slots,
}

impl Webhooks {
    pub fn new(store: Store, clock: Clock, outbound: Outbound, delays: Vec<Duration>) -> Self {
        Self(Arc::new(Parts {
            store,
            clock,
            outbound,
            delays,
            process: hex(&ambient::random::<12>()),
            slots: Slots::default(),
        }))
    }

    /// Delivers until shutdown.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        let stop = watch::Sender::new(false);
        let mut beats = interval(BEAT_EVERY);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut serving = JoinSet::new();
        loop {
            while serving.try_join_next().is_some() {}
            tokio::select! {
                () = &mut shutdown => break,
                _ = beats.tick() => self.beat_or_say().await,
                () = self.0.store.delivery_written() => {}
                () = sleep(LOOK_EVERY) => {}
            }
            let free = ENDPOINTS_AT_ONCE - serving.len();
            for account in self.claim_or_say(free).await {
                let served = endpoint::serve(self.clone(), account, stop.subscribe());
                serving.spawn(served);
            }
            sleep(PAUSE).await;
        }
        stop.send_replace(true);
        let finished = async { while serving.join_next().await.is_some() {} };
        if timeout(GRACE, finished).await.is_err() {
            tracing::warn!(
                left = serving.len(),
                "deliveries are cut off; they are made again"
            );
            serving.shutdown().await;
        }
        self.leave().await;
    }

    /// Makes everything that is due, and what becomes due by that; tells how many endpoints it was.
    pub async fn drain(&self) -> Result<usize, StoreError> {
        let stop = watch::Sender::new(false);
        let mut served = 0;
        loop {
            let claimed = self.claim(ENDPOINTS_AT_ONCE).await?;
            if claimed.is_empty() {
                return Ok(served);
            }
            served += claimed.len();
            let serve = |account| endpoint::serve(self.clone(), account, stop.subscribe());
            join_all(claimed.into_iter().map(serve)).await;
        }
    }

    /// Makes what is due for one account, or waits until whoever serves it has; not beyond the
    /// deadline.
    pub async fn settle(&self, account: AccountId, deadline: Instant) -> Result<(), StoreError> {
        while Instant::now() < deadline {
            let (process, now) = (self.0.process.clone(), self.0.clock.now());
            let due = move |tx: &mut Tx<'_>| Ok(!tx.due_deliveries(account, now, 1)?.is_empty());
            let served = move |tx: &mut Tx<'_>| tx.endpoint(account);
            let endpoint = self.0.store.read(served).await?;
            let enabled = endpoint.is_some_and(|endpoint| endpoint.disabled.is_none());
            if !enabled || !self.0.store.snapshot(due).await? {
                return Ok(());
            }
            let claim = move |tx: &mut Tx<'_>| tx.claim_endpoint(account, &process, now);
            if self.0.store.write(claim).await? {
                // Goes on where this is given up: whoever has claimed an endpoint must give it back.
                let webhooks = self.clone();
                let serving = tokio::spawn(async move {
                    let stop = watch::Sender::new(false);
                    endpoint::serve(webhooks, account, stop.subscribe()).await;
                });
                let _ = timeout_at(deadline, serving).await;
            } else {
                sleep(PAUSE).await;
            }
        }
        Ok(())
    }

    /// Sends something to an endpoint, now, and tells how that ended.
    pub async fn send(
        &self,
        endpoint: &Endpoint,
        message: EventId,
        event_type: EventType,
        data: &str,
    ) -> Attempt {
        exchange::send(&self.0, endpoint, message, event_type, data).await
    }

    async fn claim_or_say(&self, limit: usize) -> Vec<AccountId> {
        self.claim(limit).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot look for deliveries");
            Vec::new()
        })
    }

    async fn claim(&self, limit: usize) -> Result<Vec<AccountId>, StoreError> {
        let now = self.0.clock.now();
        // Mostly there is nothing to do: a look costs less than a transaction.
        let look = move |tx: &mut Tx<'_>| tx.any_endpoint_due(now);
        if limit == 0 || !self.0.store.read(look).await? {
            return Ok(Vec::new());
        }
        let process = self.0.process.clone();
        let claim = self
            .0
            .store
            .write(move |tx| tx.claim_endpoints(&process, now, limit as i64));
        claim.await
    }

    async fn beat_or_say(&self) {
        let (process, now) = (self.0.process.clone(), self.0.clock.now());
        let beat = self
            .0
            .store
            .write(move |tx| tx.beat(&process, now, now.plus(DEAD_AFTER)));
        if let Err(error) = beat.await {
            tracing::warn!(%error, "cannot say that this process lives");
        }
    }

    async fn leave(&self) {
        let (process, now) = (self.0.process.clone(), self.0.clock.now());
        let leave = self
            .0
            .store
            .write(move |tx| tx.forget_process(&process, now));
        if let Err(error) = leave.await {
            tracing::warn!(%error, "endpoints of this process wait until it is taken for dead");
        }
    }
}
