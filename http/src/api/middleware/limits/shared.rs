//! Quotas that several servers share, kept in the database. Each server settles with it in the
//! background: one transaction at a time, for all callers that are due.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::ambient::{self, Clock};
use crate::api::middleware::limits::share::{Share, Verdict};
use crate::domain::AccountId;
use crate::domain::accounts::rate_limit::{Settled, Settlement};
use crate::store::{Store, StoreError, background_within};
use crate::usecases;

/// Callers in one transaction. Their rows are locked for as long as it takes.
const BATCH: usize = 64;
/// How long a settlement may take, and how long a request waits for one. After that the request
/// passes: whether a quota is used up is not worth an outage.
const SETTLE_WITHIN: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(1);
/// After a settlement that failed.
const PAUSE: Duration = Duration::from_secs(1);

pub struct SharedLimits {
    store: Store,
    /// The machine's: quotas come back in real time.
    clock: Clock,
    state: Mutex<State>,
    woken: Arc<Notify>,
}

#[derive(Default)]
struct State {
    callers: HashMap<AccountId, Caller>,
    /// When to look at whom. Each caller is there once at most.
    timers: BTreeSet<(Instant, AccountId)>,
    /// The task that settles. There is none while there is nothing to settle.
    is_running: bool,
    /// The last settlement failed.
    is_alone: bool,
}

struct Caller {
    share: Share,
    timer: Option<Instant>,
}

/// A request that was counted.
pub struct Counted {
    /// What the caller has left.
    pub remaining: u32,
    /// How long to wait, if it is refused.
    pub result: Result<(), Duration>,
}

impl SharedLimits {
    pub fn new(store: Store) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock: Clock::system(),
            state: Mutex::default(),
            woken: Arc::default(),
        })
    }

    /// Counts so many requests of a caller, all or none of which pass.
    pub async fn count(self: &Arc<Self>, id: AccountId, quota: u32, requests: u32) -> Counted {
        let mut waiting = None;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = Instant::now();
            let (verdict, remaining) = self.try_count((id, quota), requests, now);
            let settled = match verdict {
                Verdict::Passes => {
                    let result = Ok(());
                    return Counted { remaining, result };
                }
                Verdict::Refused { wait } => {
                    let (remaining, result) = (0, Err(wait));
                    return Counted { remaining, result };
                }
                Verdict::Waits(settled) => settled,
            };
            if waiting.is_none() {
                waiting = Some(Waiting::begin(self.clone(), id, requests));
            }
            let settled = tokio::time::timeout_at(deadline.into(), settled).await;
            if settled.is_err() {
                self.pass(id, requests);
                let result = Ok(());
                return Counted { remaining, result };
            }
        }
    }

    fn try_count(
        self: &Arc<Self>,
        (id, quota): (AccountId, u32),
        requests: u32,
        now: Instant,
    ) -> (Verdict, u32) {
        let mut state = self.lock();
        let is_alone = state.is_alone;
        let caller = state.callers.entry(id).or_insert_with(|| Caller {
            share: Share::new(quota, now),
            timer: None,
        });
        caller.share.set_quota(quota);
        let verdict = caller.share.count(requests, now, is_alone);
        let remaining = caller.share.remaining(now);
        self.schedule(&mut state, id, now);
        (verdict, remaining)
    }

    fn pass(self: &Arc<Self>, id: AccountId, requests: u32) {
        self.change(id, |share, now| share.pass_on_credit(requests, now));
    }

    fn change(self: &Arc<Self>, id: AccountId, change: impl FnOnce(&mut Share, Instant)) {
        let (mut state, now) = (self.lock(), Instant::now());
        if let Some(caller) = state.callers.get_mut(&id) {
            change(&mut caller.share, now);
        }
        self.schedule(&mut state, id, now);
    }

    /// Sets the timer of a caller, if it must be earlier. One that is too early does no harm.
    fn schedule(self: &Arc<Self>, state: &mut State, id: AccountId, now: Instant) {
        let Some(caller) = state.callers.get_mut(&id) else {
            return;
        };
        let Some(due) = caller.share.due(now) else {
            return;
        };
        if caller.timer.is_some_and(|timer| timer <= due) {
            return;
        }
        if let Some(timer) = caller.timer.replace(due) {
            state.timers.remove(&(timer, id));
        }
        state.timers.insert((due, id));
        if !state.is_running {
            // A request that waited may be dropped with the runtime. Then nothing is settled any more.
            let runtime = tokio::runtime::Handle::try_current();
            state.is_running = runtime.is_ok();
            if let Ok(runtime) = runtime {
                runtime.spawn(run(Arc::downgrade(self), self.woken.clone()));
            }
        } else if state.timers.first() == Some(&(due, id)) {
            self.woken.notify_one();
        }
    }

    /// Settles whatever is due. Returns when to look again, if there is anything left to settle.
    async fn settle_due(self: &Arc<Self>) -> Option<Next> {
        loop {
            let asked = self.take_due(Instant::now());
            if asked.is_empty() {
                let mut state = self.lock();
                let next = state.timers.first().map(|(at, _)| *at);
                state.is_running = next.is_some();
                return next.map(Next::At);
            }
            let (batch, now) = (asked.clone(), self.clock.now());
            let settle =
                move |tx: &mut crate::store::Tx<'_>| usecases::settle_rate_limits(tx, &batch, now);
            let settled = background_within(SETTLE_WITHIN, self.store.write(settle)).await;
            if !self.note(&asked, settled) {
                return Some(Next::Pause);
            }
        }
    }

    /// What is due, sorted by caller.
    fn take_due(&self, now: Instant) -> Vec<(AccountId, Settlement)> {
        let mut state = self.lock();
        let mut asked = Vec::new();
        while asked.len() < BATCH
            && let Some((at, id)) = state.timers.first().copied()
            && at <= now
        {
            state.timers.pop_first();
            let Some(caller) = state.callers.get_mut(&id) else {
                continue;
            };
            caller.timer = None;
            if caller.share.due(now).is_some_and(|due| due <= now)
                && let Some(settlement) = caller.share.ask(now)
            {
                asked.push((id, settlement));
            } else if let Some(due) = caller.share.due(now) {
                // Later: what is due now and has nothing to ask would be due for ever.
                let due = due.max(now + Duration::from_millis(100));
                caller.timer = Some(due);
                state.timers.insert((due, id));
            }
        }
        asked.sort_unstable_by_key(|(id, _)| *id);
        asked
    }

    /// Whether the database has answered.
    fn note(
        self: &Arc<Self>,
        asked: &[(AccountId, Settlement)],
        settled: Result<Vec<Settled>, StoreError>,
    ) -> bool {
        let (mut state, now) = (self.lock(), Instant::now());
        if let Err(error) = &settled
            && !state.is_alone
        {
            tracing::warn!(%error, "rate limits are counted by this server alone");
        }
        state.is_alone = settled.is_err();
        let answers = settled.unwrap_or_default();
        for (n, (id, _)) in asked.iter().enumerate() {
            if let Some(caller) = state.callers.get_mut(id) {
                match answers.get(n) {
                    Some(settled) => caller.share.settled(*settled, now, jitter()),
                    None => caller.share.failed(),
                }
            }
            self.schedule(&mut state, *id, now);
        }
        !state.is_alone
    }

    /// Drops callers that have their whole quota back.
    pub fn forget_idle(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        let state = &mut *state;
        state.callers.retain(|_, caller| !caller.share.is_idle(now));
        state.callers.shrink_to(state.callers.len() * 2);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Next {
    At(Instant),
    Pause,
}

/// Settles until there is nothing left to settle. It does not keep the store open.
async fn run(limits: Weak<SharedLimits>, woken: Arc<Notify>) {
    loop {
        let next = match limits.upgrade() {
            Some(limits) => limits.settle_due().await,
            None => return,
        };
        match next {
            None => return,
            Some(Next::Pause) => tokio::time::sleep(PAUSE).await,
            Some(Next::At(at)) => tokio::select! {
                () = tokio::time::sleep_until(at.into()) => {}
                () = woken.notified() => {}
            },
        }
    }
}

/// That so many requests wait for a settlement.
struct Waiting {
    limits: Arc<SharedLimits>,
    id: AccountId,
    requests: u32,
}

impl Waiting {
    fn begin(limits: Arc<SharedLimits>, id: AccountId, requests: u32) -> Self {
        limits.change(id, |share, _| share.begin_waiting(requests));
        Self {
            limits,
            id,
            requests,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let requests = self.requests;
        self.limits
            .change(self.id, |share, _| share.end_waiting(requests));
    }
}

/// Between 0 and 1.
fn jitter() -> f64 {
    let [byte, ..] = ambient::random_for_id();
    f64::from(byte) / 255.0
}
