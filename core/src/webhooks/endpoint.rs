//! Serves one endpoint: sends what is due, a few deliveries at a time, in order for each task.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::{FutureExt, SelectAll, select_all};
use metrics::{counter, histogram};
use tokio::sync::futures::Notified;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use super::queue::Queue;
use super::turns::Turn;
use super::{POLL_INTERVAL, Webhooks, request};
use crate::domain::{AccountId, Attempt, Environment, EventId, Owner, TaskId, Timestamp};
use crate::store::{Endpoint, EventWakeup, StoreError};
use crate::usecases::{self, DeliveryOutcome, EndpointHealth, UseCaseError};

/// How many deliveries to an endpoint are in flight at once.
const AT_ONCE: usize = 8;
/// How many deliveries are read at once.
const READ_AT_ONCE: usize = 64;
/// Under load every commit tells of new deliveries. A pause between two reads combines several of them.
const READ_PAUSE: Duration = Duration::from_millis(10);
/// How long an endpoint is kept after its last delivery. Claiming it anew for each event would cost more
/// than the delivery. Deliveries that other processes have written wait that long at most.
pub const LINGER: Duration = Duration::from_millis(50);
/// How many outcomes may wait to be recorded before new deliveries stop.
const MAX_UNRECORDED: usize = 256;
/// How long an endpoint rests after an error or a panic, which the next try may repeat.
const AFTER_ERROR: Duration = Duration::from_secs(1);
const AFTER_PANIC: Duration = Duration::from_secs(10);

/// Serves the endpoint until nothing has been due for as long as it lingers, then releases it.
pub async fn serve(
    webhooks: Webhooks,
    account: AccountId,
    linger: Duration,
    stop: watch::Receiver<bool>,
) {
    let store = webhooks.0.store.clone();
    let wakeups = Environment::ALL.iter().map(|environment| {
        store.event_wakeup(Owner {
            account,
            environment: *environment,
        })
    });
    let wakeups: Vec<_> = wakeups.collect();
    let turn = webhooks.0.turns.begin(account);
    let mut serving = Serving {
        webhooks,
        account,
        turn,
        lost: false,
        endpoint: None,
        queue: Queue::default(),
        known: HashSet::new(),
        busy: HashSet::new(),
        gone: false,
        width: 1,
        in_flight: JoinSet::new(),
        outcomes: Vec::new(),
        recording: None,
        recheck: true,
        news: false,
        more: false,
        last_read: Instant::now(),
        linger,
        kept_until: None,
    };
    let serve = AssertUnwindSafe(serving.run(&wakeups, stop.clone()));
    // Nobody else takes an endpoint that this process holds, so it is released whatever happens.
    let pause = match serve.catch_unwind().await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => {
            tracing::warn!(%account, %error, "endpoint released after an error");
            AFTER_ERROR
        }
        Err(_) => {
            tracing::error!(%account, "endpoint released after a panic");
            AFTER_PANIC
        }
    };
    drop(serving.in_flight);
    while !*stop.borrow() && abandon(&serving.webhooks, account, pause).await.is_err() {
        sleep(POLL_INTERVAL).await;
    }
}

/// Releases an endpoint that still has deliveries due. They are looked at after a pause.
async fn abandon(
    webhooks: &Webhooks,
    account: AccountId,
    pause: Duration,
) -> Result<(), StoreError> {
    let inner = webhooks.0.clone();
    let abandon = webhooks.0.store.write_for(account, move |tx| {
        let due_at = Some(inner.clock.now().plus(pause));
        tx.abandon_endpoint(account, &inner.process, due_at)
    });
    abandon.await
}

/// Completes on the next event of the account, in either environment.
fn next_wakeup(wakeups: &[EventWakeup]) -> SelectAll<Pin<Box<Notified<'_>>>> {
    select_all(wakeups.iter().map(|wakeup| Box::pin(wakeup.next())))
}

struct Serving {
    webhooks: Webhooks,
    account: AccountId,
    turn: Turn,
    /// The endpoint is another one, or another process or task serves it.
    lost: bool,
    /// As it was last read.
    endpoint: Option<Endpoint>,
    /// Read but not started.
    queue: Queue,
    /// Read but not recorded. Another read returns them again.
    known: HashSet<EventId>,
    /// Tasks with a delivery in flight. The next delivery of the same task waits.
    busy: HashSet<TaskId>,
    /// The endpoint has answered that it is gone, and this is not recorded yet.
    gone: bool,
    /// How many deliveries may be in flight: one until the first succeeds, so that a dead endpoint
    /// costs little.
    width: usize,
    in_flight: JoinSet<DeliveryOutcome>,
    outcomes: Vec<DeliveryOutcome>,
    recording: Option<JoinHandle<Result<Recorded, UseCaseError>>>,
    /// The settings may have changed, or something may have become due.
    recheck: bool,
    /// This process has written events of the account since the last read.
    news: bool,
    /// The last read did not return everything.
    more: bool,
    last_read: Instant,
    linger: Duration,
    /// Until when the endpoint is kept although there is nothing to do.
    kept_until: Option<Instant>,
}

impl Serving {
    async fn run(
        &mut self,
        wakeups: &[EventWakeup],
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), UseCaseError> {
        let mut woken = next_wakeup(wakeups);
        loop {
            if *stop.borrow() {
                self.drop_queue();
            } else if self.must_read() {
                self.refresh().await?;
            }
            self.begin();
            self.record();
            let idle = self.idle();
            if idle && self.lost {
                return Ok(());
            }
            if idle && *stop.borrow() {
                return Ok(abandon(&self.webhooks, self.account, Duration::ZERO).await?);
            }
            if idle && !self.news && self.kept_until.is_none_or(|until| until <= Instant::now()) {
                if self.release().await? {
                    return Ok(());
                }
                // If the next read finds nothing to send, this waits before it asks again.
                self.recheck = true;
                self.kept_until = Some(Instant::now() + POLL_INTERVAL);
                continue;
            }
            let read_at = self.last_read + READ_PAUSE;
            let (reads_later, kept_until) = (self.reads_later(), self.kept_until);
            tokio::select! {
                Some(outcome) = self.in_flight.join_next() => self.finished(outcome)?,
                recorded = finished_recording(&mut self.recording) => self.recorded(recorded)?,
                _ = &mut woken => {
                    woken = next_wakeup(wakeups);
                    self.news = true;
                }
                () = sleep_until(read_at), if reads_later => {}
                () = sleep_until(kept_until.unwrap_or(read_at)), if idle && !self.news => {}
                () = sleep(POLL_INTERVAL) => self.recheck = true,
                _ = stop.changed() => {}
            }
        }
    }

    /// While enough deliveries are queued, what else is due can wait. Changes of the settings by other
    /// processes are noticed after a while all the same.
    fn must_read(&self) -> bool {
        if self.lost {
            return false;
        }
        self.recheck
            || self.last_read.elapsed() >= POLL_INTERVAL
            || ((self.more || (self.news && self.last_read.elapsed() >= READ_PAUSE))
                && self.queue.is_short(&self.busy))
    }

    /// Whether only the pause holds back a read.
    fn reads_later(&self) -> bool {
        self.news && self.queue.is_short(&self.busy)
    }

    /// Reads the current settings of the endpoint, and what is due unless enough is queued.
    async fn refresh(&mut self) -> Result<(), StoreError> {
        let (account, now) = (self.account, self.webhooks.0.clock.now());
        let is_short = self.queue.is_short(&self.busy);
        let limit = (self.known.len() + READ_AT_ONCE) as i64;
        // What is written from now on is new.
        (self.recheck, self.news) = (false, false);
        self.last_read = Instant::now();
        // Few rows, by their index. A snapshot would cost a process of PostgreSQL two more round trips.
        let read = self.webhooks.0.store.read(move |tx| {
            let endpoint = tx.endpoint(account)?;
            let due = match &endpoint {
                Some(endpoint) if endpoint.disabled.is_none() && is_short => {
                    tx.due_deliveries(account, now, limit)?
                }
                _ => Vec::new(),
            };
            Ok::<_, StoreError>((endpoint, due))
        });
        let (endpoint, due) = read.await?;
        let process = Some(self.webhooks.0.process.as_str());
        let held = endpoint.filter(|endpoint| endpoint.claim.as_deref() == process);
        let Some(endpoint) = held.filter(|_| self.turn.is_current()) else {
            self.lose();
            return Ok(());
        };
        if endpoint.disabled.is_some() {
            self.drop_queue();
        }
        self.endpoint = Some(endpoint);
        let may_be_more = !is_short || due.len() as i64 == limit;
        let all_kept = self.queue.add(due, &mut self.known);
        self.more = may_be_more || !all_kept;
        Ok(())
    }

    /// Somebody else sends what is due, so nothing of it goes on here. What has ended is still recorded.
    fn lose(&mut self) {
        self.lost = true;
        self.drop_queue();
        self.in_flight = JoinSet::new();
    }

    /// What is not started is read again if it is still due.
    fn drop_queue(&mut self) {
        self.queue.clear(&mut self.known);
    }

    /// Starts the deliveries that may start now.
    fn begin(&mut self) {
        let Some(endpoint) = self.endpoint.clone().filter(|_| !self.gone) else {
            return;
        };
        let version = endpoint.version;
        while self.in_flight.len() < self.width && self.outcomes.len() < MAX_UNRECORDED {
            let Some(delivery) = self.queue.next(&self.busy) else {
                return;
            };
            self.busy.extend(delivery.task);
            let (webhooks, endpoint) = (self.webhooks.clone(), endpoint.clone());
            self.in_flight.spawn(async move {
                let (id, event_type) = (delivery.event, delivery.event_type);
                let data = &delivery.data;
                let send = request::send(&webhooks.0, &endpoint, id, event_type, data, true);
                let attempt = webhooks.0.slots.work(send).await;
                DeliveryOutcome {
                    delivery,
                    attempt,
                    version,
                }
            });
        }
    }

    fn finished(&mut self, outcome: Result<DeliveryOutcome, JoinError>) -> Result<(), StoreError> {
        let outcome =
            outcome.map_err(|e| StoreError::Failed(format!("a delivery was lost: {e}")))?;
        let delivered = outcome.attempt.delivered();
        // A late answer of where the deliveries went before says nothing about where they go now.
        let current = self.endpoint.as_ref().map(|endpoint| endpoint.version);
        if current == Some(outcome.version) {
            self.width = if delivered { AT_ONCE } else { 1 };
            self.gone |= outcome.attempt.gone();
        }
        if let Some(task) = outcome.delivery.task {
            self.busy.remove(&task);
        }
        let result = if delivered { "delivered" } else { "failed" };
        counter!("legwork_deliveries_total", "result" => result).increment(1);
        histogram!("legwork_delivery_seconds").record(outcome.attempt.duration_ms as f64 / 1_000.0);
        self.outcomes.push(outcome);
        match self.in_flight.try_join_next() {
            Some(outcome) => self.finished(outcome),
            None => Ok(()),
        }
    }

    /// Records finished deliveries while others continue.
    fn record(&mut self) {
        if self.recording.is_some() || self.outcomes.is_empty() {
            return;
        }
        let Some(endpoint) = self.endpoint.clone() else {
            return;
        };
        let outcomes = std::mem::take(&mut self.outcomes);
        let webhooks = self.webhooks.clone();
        self.recording = Some(tokio::spawn(async move {
            let events = outcomes.iter().map(|outcome| outcome.delivery.event);
            let events = events.collect();
            let failed = |outcome: &&DeliveryOutcome| !outcome.attempt.delivered();
            let failure = outcomes.iter().find(failed).map(|o| o.attempt.clone());
            let (version, failing_before) = (endpoint.version, endpoint.failing_since);
            let inner = webhooks.0.clone();
            let write = webhooks.0.store.write_for(endpoint.account, move |tx| {
                let now = inner.clock.now();
                usecases::record_deliveries(tx, &endpoint, &outcomes, &inner.delays, now)
            });
            Ok(Recorded {
                events,
                version,
                failure,
                failing_before,
                health: write.await?,
            })
        }));
    }

    fn recorded(&mut self, recorded: Result<Recorded, UseCaseError>) -> Result<(), UseCaseError> {
        self.recording = None;
        let recorded = recorded?;
        recorded.log(self.account);
        self.gone = self.outcomes.iter().any(|outcome| outcome.attempt.gone());
        let judged = |endpoint: &&mut Endpoint| endpoint.version == recorded.version;
        if let Some(endpoint) = self.endpoint.as_mut().filter(judged) {
            match recorded.health {
                EndpointHealth::Works => endpoint.failing_since = None,
                EndpointHealth::FailingSince(since) => endpoint.failing_since = Some(since),
                // A disabled endpoint gets nothing more: the next look finds that out.
                EndpointHealth::Disabled | EndpointHealth::Unknown => self.recheck = true,
            }
        }
        for event in &recorded.events {
            self.known.remove(event);
        }
        self.kept_until = Some(Instant::now() + self.linger);
        Ok(())
    }

    fn idle(&self) -> bool {
        self.queue.is_empty()
            && self.in_flight.is_empty()
            && self.outcomes.is_empty()
            && self.recording.is_none()
    }

    /// Returns false if something has become due.
    async fn release(&mut self) -> Result<bool, UseCaseError> {
        let (account, inner) = (self.account, self.webhooks.0.clone());
        let store = &self.webhooks.0.store;
        let release = store.write_for(account, move |tx| {
            tx.release_endpoint(account, &inner.process, inner.clock.now())
        });
        Ok(release.await?)
    }
}

/// Outcomes that were recorded together, and what they made of the endpoint.
struct Recorded {
    events: Vec<EventId>,
    /// That of the endpoint.
    version: Timestamp,
    /// One that failed, if any did.
    failure: Option<Attempt>,
    failing_before: Option<Timestamp>,
    health: EndpointHealth,
}

impl Recorded {
    /// One line when the endpoint begins to fail, and one when that is over. The URL may contain a
    /// secret of the developer's, so it is not logged.
    fn log(&self, account: AccountId) {
        let status = self
            .failure
            .as_ref()
            .and_then(|failure| failure.status_code);
        let error = self
            .failure
            .as_ref()
            .and_then(|failure| failure.error.as_deref());
        match (self.failing_before, self.health) {
            (None, EndpointHealth::FailingSince(_)) => {
                tracing::warn!(%account, status, error, "webhook endpoint begins to fail");
            }
            (Some(since), EndpointHealth::Works) => {
                tracing::warn!(%account, %since, "webhook endpoint works again");
            }
            (_, EndpointHealth::Disabled) => {
                tracing::warn!(%account, status, error, "webhook endpoint disabled");
            }
            _ => {}
        }
    }
}

/// Never completes if nothing is being recorded.
async fn finished_recording(
    recording: &mut Option<JoinHandle<Result<Recorded, UseCaseError>>>,
) -> Result<Recorded, UseCaseError> {
    match recording {
        None => std::future::pending().await,
        Some(recording) => recording.await.unwrap_or_else(|panicked| {
            Err(StoreError::Failed(format!("a record was lost: {panicked}")).into())
        }),
    }
}
