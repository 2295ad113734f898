//! Deliveries to developers' endpoints: signed, in order for each task, with retries.
//!
//! One process at a time serves an endpoint: it claims the endpoint, sends what is due and releases
//! it. Each process sends a heartbeat. When it stops, other processes take over its endpoints. So
//! each delivery is made at least once, and an endpoint gets only a few at a time.

mod endpoint;
mod peers;
mod queue;
mod request;
mod slots;
mod turns;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use peers::Peers;
use slots::Slots;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout, timeout_at};
use turns::Turns;

use crate::ambient::{self, Clock};
use crate::domain::accounts::api_key::hex;
use crate::domain::{AccountId, Attempt, EventId, EventType, Timestamp};
use crate::outbound::Outbound;
use crate::store::{Endpoint, Heartbeat, Store, StoreError, Tx};

/// How many endpoints a process serves at once.
const ENDPOINTS_AT_ONCE: usize = 4_096;
/// How often a process polls for deliveries without a wake-up: those of other processes, and
/// retries.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Under load every commit sends a wake-up. A pause combines several of them.
const PAUSE: Duration = Duration::from_millis(5);
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);
/// A process without a heartbeat for this long counts as dead.
const DEAD_AFTER: Duration = Duration::from_secs(10);
/// How long deliveries may continue after shutdown starts. Those that are aborted are sent again.
const GRACE: Duration = Duration::from_secs(10);

/// Cheap to clone.
#[derive(Clone)]
pub struct Webhooks(Arc<Inner>);

struct Inner {
    store: Store,
    clock: Clock,
    outbound: Outbound,
    /// The delays between retries.
    delays: Vec<Duration>,
    /// The id of this process.
    process: String,
    peers: Mutex<Peers>,
    slots: Slots,
    turns: Turns,
}

impl Webhooks {
    pub fn new(store: Store, clock: Clock, outbound: Outbound, delays: Vec<Duration>) -> Self {
        Self(Arc::new(Inner {
            store,
            clock,
            outbound,
            delays,
            process: hex(&ambient::random::<12>()),
            peers: Mutex::default(),
            slots: Slots::default(),
            turns: Turns::default(),
        }))
    }

    /// Delivers until shutdown.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        let stop = watch::Sender::new(false);
        let mut heartbeats = interval(HEARTBEAT_INTERVAL);
        heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut serving = JoinSet::new();
        loop {
            while serving.try_join_next().is_some() {}
            tokio::select! {
                () = &mut shutdown => break,
                _ = heartbeats.tick() => self.beat_or_log().await,
                () = self.0.store.delivery_written() => {}
                () = sleep(POLL_INTERVAL) => {}
            }
            let free = ENDPOINTS_AT_ONCE - serving.len();
            for account in self.claim_or_log(free).await {
                let served =
                    endpoint::serve(self.clone(), account, endpoint::LINGER, stop.subscribe());
                serving.spawn(served);
            }
            sleep(PAUSE).await;
        }
        stop.send_replace(true);
        let finished = async { while serving.join_next().await.is_some() {} };
        if timeout(GRACE, finished).await.is_err() {
            tracing::warn!(
                left = serving.len(),
                "deliveries aborted; they will be sent again"
            );
            serving.shutdown().await;
        }
        self.deregister().await;
    }

    /// Sends everything that is due, and what becomes due as a result. Returns how many endpoints
    /// it served.
    pub async fn drain(&self) -> Result<usize, StoreError> {
        let stop = watch::Sender::new(false);
        let mut served = 0;
        loop {
            let claimed = self.claim(ENDPOINTS_AT_ONCE).await?;
            if claimed.is_empty() {
                return Ok(served);
            }
            served += claimed.len();
            let serve =
                |account| endpoint::serve(self.clone(), account, Duration::ZERO, stop.subscribe());
            join_all(claimed.into_iter().map(serve)).await;
        }
    }

    /// Sends what is due for one account, or waits until the process that serves it has. Stops at
    /// the deadline.
    pub async fn settle(&self, account: AccountId, deadline: Instant) -> Result<(), StoreError> {
        while Instant::now() < deadline {
            let now = self.0.clock.now();
            let claimer = self.heartbeat(now);
            let due = move |tx: &mut Tx<'_>| Ok(!tx.due_deliveries(account, now, 1)?.is_empty());
            let served = move |tx: &mut Tx<'_>| tx.endpoint(account);
            let endpoint = self.0.store.read(served).await?;
            let enabled = endpoint.is_some_and(|endpoint| endpoint.disabled.is_none());
            if !enabled || !self.0.store.snapshot(due).await? {
                return Ok(());
            }
            let claim = move |tx: &mut Tx<'_>| tx.claim_endpoint(account, &claimer, now);
            if self.0.store.write(claim).await? {
                // A separate task, which continues if this future is dropped: a claimed endpoint
                // must be released.
                let webhooks = self.clone();
                let serving = tokio::spawn(async move {
                    let stop = watch::Sender::new(false);
                    endpoint::serve(webhooks, account, Duration::ZERO, stop.subscribe()).await;
                });
                let _ = timeout_at(deadline, serving).await;
            } else {
                sleep(PAUSE).await;
            }
        }
        Ok(())
    }

    /// Sends something now, once, and returns the outcome.
    pub async fn send(
        &self,
        endpoint: &Endpoint,
        message: EventId,
        event_type: EventType,
        data: &str,
    ) -> Attempt {
        request::send(&self.0, endpoint, message, event_type, data, false).await
    }

    async fn claim_or_log(&self, limit: usize) -> Vec<AccountId> {
        self.claim(limit).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot poll for deliveries");
            Vec::new()
        })
    }

    async fn claim(&self, limit: usize) -> Result<Vec<AccountId>, StoreError> {
        let now = self.0.clock.now();
        // Usually nothing is due, and a read is cheaper than a transaction.
        let due = move |tx: &mut Tx<'_>| tx.any_endpoint_due(now);
        if limit == 0 || !self.0.store.read(due).await? {
            return Ok(Vec::new());
        }
        let claimer = self.heartbeat(now);
        let claim = self
            .0
            .store
            .write(move |tx| tx.claim_endpoints(&claimer, now, limit as i64));
        claim.await
    }

    fn heartbeat(&self, now: Timestamp) -> Heartbeat {
        Heartbeat {
            process: self.0.process.clone(),
            alive_until: now.plus(DEAD_AFTER),
        }
    }

    async fn beat_or_log(&self) {
        if let Err(error) = self.beat().await {
            tracing::warn!(%error, "cannot write the heartbeat");
        }
    }

    /// Says that this process lives, and releases the endpoints of processes that do not.
    pub async fn beat(&self) -> Result<(), StoreError> {
        let store = &self.0.store;
        let mut others = store.read(|tx| tx.heartbeats()).await?;
        others.retain(|other| other.process != self.0.process);
        let now = self.0.clock.now();
        let dead = {
            let mut peers = self.0.peers.lock().unwrap_or_else(PoisonError::into_inner);
            peers.dead(others, now, Instant::now())
        };
        let heartbeat = self.heartbeat(now);
        let beat = store.write(move |tx| {
            tx.bury(&dead, now)?;
            tx.release_orphaned(&heartbeat.process, now)?;
            tx.beat(&heartbeat)
        });
        beat.await
    }

    async fn deregister(&self) {
        let (process, now) = (self.0.process.clone(), self.0.clock.now());
        let deregister = self
            .0
            .store
            .write(move |tx| tx.forget_process(&process, now));
        if let Err(error) = deregister.await {
            tracing::warn!(%error, "cannot release the endpoints of this process; others take over when its heartbeat expires");
        }
    }
}
