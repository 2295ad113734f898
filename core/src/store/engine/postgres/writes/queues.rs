//! What waits for a connection: writes by lane, and everything else in the order in which it came.
//!
//! The writes of one account are a lane. A lane is run by one connection at a time, so they never wait
//! for each other's locks. A connection takes all lanes that are ready, and runs a bounded number of
//! each in one database transaction. A lane with more than that goes to the end of the line.
//!
//! A database on this machine shares our processors. If more single transactions run there than there are processors, the
//! threads that answer requests wait for one, and no transaction ends sooner. So no more of them begin. One that only
//! waits for its commit or for a lock uses no processor, and one that runs for long waits for something: they are not
//! counted.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::store::engine::StoreError;
use crate::store::engine::postgres::Mode;
use crate::store::engine::work::{Lane, Queued};

/// How many transactions may wait for a connection. More are refused.
const QUEUE: usize = 20_000;
/// So many batches run at the same time. Fewer and larger ones cost the server less.
const BATCHES: usize = 2;
/// One more may begin when none has begun for so long: the server is far away, or a batch is stuck.
const PATIENCE: Duration = Duration::from_millis(4);
/// A single transaction that has run for so long is not counted any more: it may wait for a lock or for the disk, and others
/// are short.
const STUCK: Duration = Duration::from_millis(20);
/// A batch takes as many lanes as have so many transactions waiting, and not more than so many lanes. At
/// least one transaction of each is run.
const ENOUGH: usize = 64;
const LANES: usize = 32;

pub type Job = (Queued, Mode);

/// A transaction that runs by itself. Whoever runs it takes a turn for it.
pub struct Single {
    pub job: Job,
    /// None if it is not counted.
    pub begun: Option<Instant>,
}

/// A single transaction is counted until this is dropped, or ended before.
pub struct Turn<'a> {
    queues: &'a Queues,
    begun: Option<Instant>,
}

impl Turn<'_> {
    /// Another one may begin, and some other thread looks for it.
    pub fn end(&mut self) {
        if let Some(begun) = self.begun.take() {
            let mut waiting = self.queues.lock();
            waiting.running.end(begun);
            waiting.wake_another();
        }
    }
}

impl Drop for Turn<'_> {
    /// This thread looks for what is next.
    fn drop(&mut self) {
        if let Some(begun) = self.begun {
            self.queues.lock().running.end(begun);
        }
    }
}

/// What a connection does next.
pub enum Next {
    One(Box<Single>),
    /// A batch of these lanes. Whoever runs it calls `end_batch`.
    Lanes(Vec<Lane>),
}

#[derive(Default)]
pub struct Queues {
    waiting: Mutex<Waiting>,
}

/// The single transactions that run.
#[derive(Default)]
struct Singles {
    begun: Vec<Instant>,
    /// How many may run at the same time. None if it does not matter.
    at_once: Option<usize>,
}

#[derive(Default)]
struct Waiting {
    singles: VecDeque<Job>,
    lanes: HashMap<Lane, Line>,
    /// Lanes in which something waits, and that no connection runs.
    ready: VecDeque<Lane>,
    /// How many transactions wait in lanes.
    in_lanes: usize,
    /// How many batches run, and when the last one began.
    batches: usize,
    batch_begun: Option<Instant>,
    running: Singles,
    /// Single transactions and batches take turns.
    single_is_next: bool,
    /// A thread waits for this moment, at which one more may begin.
    watched: Option<Instant>,
    /// Threads that wait for something to do, each woken by itself: the last first. Its connection has the statements
    /// prepared that are needed now, and what they need is still in the caches of the server and of the processor.
    idle: Vec<Arc<Condvar>>,
    closed: bool,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Queued>,
    running: bool,
}

impl Queues {
    pub fn push(&self, queued: Queued, mode: Mode) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(StoreError::Unavailable("the store is shutting down".into()));
        }
        if waiting.len() >= QUEUE {
            return Err(StoreError::Overloaded);
        }
        if waiting.push(queued, mode) {
            wake_one(waiting);
        }
        Ok(())
    }

    /// Puts back what a connection took and could not run. It is the next to run.
    pub fn put_back(&self, queued: Queued, mode: Mode, error: StoreError) {
        let mut waiting = self.lock();
        if waiting.closed {
            drop(waiting);
            return queued.refuse(error);
        }
        waiting.put_back(queued, mode);
        wake_one(waiting);
    }

    /// Waits for something to do. None once the store is closed and nothing is left. So many single transactions may run
    /// at the same time.
    pub fn next(&self, at_once: Option<usize>) -> Option<Next> {
        let mut waiting = self.lock();
        waiting.running.at_once = at_once;
        loop {
            if let Some(next) = self.take(&mut waiting) {
                return Some(next);
            }
            if waiting.closed {
                return None;
            }
            let now = Instant::now();
            waiting = match waiting.until_next(now) {
                Some(pause) if waiting.is_watched_too_late(now + pause) => {
                    let mine = Some(now + pause);
                    waiting.watched = mine;
                    let mut waiting = idle(waiting, Some(pause));
                    waiting.watched = waiting.watched.filter(|_| waiting.watched != mine);
                    waiting
                }
                _ => idle(waiting, None),
            };
        }
    }

    /// The same, but waits for so long at most.
    pub fn next_within(&self, pause: Duration) -> Option<Next> {
        let until = Instant::now() + pause;
        let mut waiting = self.lock();
        loop {
            let next = self.take(&mut waiting);
            let left = until.saturating_duration_since(Instant::now());
            if next.is_some() || waiting.closed || left.is_zero() {
                return next;
            }
            waiting = idle(waiting, Some(left));
        }
    }

    fn take(&self, waiting: &mut Waiting) -> Option<Next> {
        let next = waiting.take(Instant::now())?;
        waiting.wake_another();
        Some(next)
    }

    /// The next transaction of a lane that this connection runs.
    pub fn take_from(&self, lane: Lane) -> Option<Queued> {
        let mut waiting = self.lock();
        let next = waiting.lanes.get_mut(&lane)?.waiting.pop_front()?;
        waiting.in_lanes -= 1;
        Some(next)
    }

    /// Queues a transaction that has left its batch. It waits for a lock, so it is in no lane.
    pub fn push_alone(&self, queued: Queued) {
        let mut waiting = self.lock();
        waiting.singles.push_back((queued, Mode::Write));
        wake_one(waiting);
    }

    /// The turn of a single transaction that was taken. One that nothing counts has none.
    pub fn turn(&self, begun: Option<Instant>) -> Turn<'_> {
        Turn {
            queues: self,
            begun,
        }
    }

    /// Ends a batch. Other connections may begin one, and run these lanes.
    pub fn end_batch(&self, lanes: &[Lane]) {
        self.lock().batches -= 1;
        self.release(lanes);
    }

    /// Other connections may run these lanes.
    pub fn release(&self, lanes: &[Lane]) {
        let mut waiting = self.lock();
        for lane in lanes {
            waiting.release(*lane);
        }
        waiting.wake_another();
    }

    /// Takes out what has waited since before that time.
    pub fn drain(&self, before: Instant) -> Vec<Queued> {
        self.lock().drain(before)
    }

    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether something waits that is not in a lane that a connection runs.
    pub fn has_unclaimed(&self) -> bool {
        let waiting = self.lock();
        !waiting.singles.is_empty() || !waiting.ready.is_empty()
    }

    /// Nothing is taken any more. What waits still runs.
    pub fn close(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        waiting.idle.drain(..).for_each(|idle| idle.notify_one());
    }

    pub fn is_over(&self) -> bool {
        let waiting = self.lock();
        waiting.closed && waiting.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until somebody wakes this thread, or for so long at most.
fn idle(mut waiting: MutexGuard<'_, Waiting>, pause: Option<Duration>) -> MutexGuard<'_, Waiting> {
    let woken = Arc::<Condvar>::default();
    waiting.idle.push(woken.clone());
    let mut waiting = match pause {
        Some(pause) => {
            let waited = woken.wait_timeout(waiting, pause);
            waited.unwrap_or_else(PoisonError::into_inner).0
        }
        None => woken.wait(waiting).unwrap_or_else(PoisonError::into_inner),
    };
    waiting.idle.retain(|other| !Arc::ptr_eq(other, &woken));
    waiting
}

fn wake_one(mut waiting: MutexGuard<'_, Waiting>) {
    let last = waiting.idle.pop();
    drop(waiting);
    if let Some(last) = last {
        last.notify_one();
    }
}

impl Waiting {
    fn len(&self) -> usize {
        self.singles.len() + self.in_lanes
    }

    /// What woke one thread may stand for more than one thing to do, or for the need to watch.
    fn wake_another(&mut self) {
        if self.wants_a_look()
            && let Some(last) = self.idle.pop()
        {
            last.notify_one();
        }
    }

    /// Whether somebody should look at it.
    fn push(&mut self, queued: Queued, mode: Mode) -> bool {
        let Some(lane) = queued.lane.filter(|_| mode == Mode::Write) else {
            self.singles.push_back((queued, mode));
            return self.wants_a_look();
        };
        self.in_lanes += 1;
        let line = self.lanes.entry(lane).or_default();
        line.waiting.push_back(queued);
        if line.running || line.waiting.len() > 1 {
            return false;
        }
        self.ready.push_back(lane);
        self.wants_a_look()
    }

    fn put_back(&mut self, queued: Queued, mode: Mode) {
        let Some(lane) = queued.lane.filter(|_| mode == Mode::Write) else {
            self.singles.push_front((queued, mode));
            return;
        };
        self.in_lanes += 1;
        let line = self.lanes.entry(lane).or_default();
        line.waiting.push_front(queued);
        if !line.running && line.waiting.len() == 1 {
            self.ready.push_front(lane);
        }
    }

    fn take(&mut self, now: Instant) -> Option<Next> {
        let is_now = |pause: Option<Duration>| pause.is_some_and(|pause| pause.is_zero());
        let begins = is_now(self.until_batch(now));
        let runs = is_now(self.until_single(now));
        if runs && (!begins || self.single_is_next) {
            self.single_is_next = false;
            let job = self.singles.pop_front()?;
            let begun = is_counted(&job).then_some(now);
            self.running.begun.extend(begun);
            return Some(Next::One(Box::new(Single { job, begun })));
        }
        begins.then(|| {
            self.batch_begun = Some(now);
            self.single_is_next = true;
            Next::Lanes(self.take_lanes())
        })
    }

    /// Leaves some for the other batches that may begin.
    fn take_lanes(&mut self) -> Vec<Lane> {
        let others = BATCHES.saturating_sub(self.batches).max(1);
        let share = self.ready.len().div_ceil(others).min(LANES);
        self.batches += 1;
        let (mut taken, mut transactions) = (Vec::new(), 0);
        while taken.len() < share && transactions < ENOUGH {
            let Some(lane) = self.ready.pop_front() else {
                break;
            };
            let line = self.lanes.entry(lane).or_default();
            line.running = true;
            transactions += line.waiting.len();
            taken.push(lane);
        }
        taken
    }

    fn release(&mut self, lane: Lane) {
        let Some(line) = self.lanes.get_mut(&lane) else {
            return;
        };
        line.running = false;
        if line.waiting.is_empty() {
            self.lanes.remove(&lane);
        } else {
            self.ready.push_back(lane);
        }
    }

    /// How long until something that waits may be taken. None if nothing waits.
    fn until_next(&self, now: Instant) -> Option<Duration> {
        let (single, batch) = (self.until_single(now), self.until_batch(now));
        single.into_iter().chain(batch).min()
    }

    /// Whether a thread should take what is next, or watch for it.
    fn wants_a_look(&self) -> bool {
        let now = Instant::now();
        let next = self.until_next(now);
        next.is_some_and(|pause| pause.is_zero() || self.is_watched_too_late(now + pause))
    }

    fn is_watched_too_late(&self, due: Instant) -> bool {
        self.watched.is_none_or(|watched| due < watched)
    }

    fn until_single(&self, now: Instant) -> Option<Duration> {
        let next = self.singles.front()?;
        Some(match is_counted(next) && !self.closed {
            true => self.running.until_one_more(now),
            false => Duration::ZERO,
        })
    }

    /// How long the next lane still waits for the batches that run.
    fn until_batch(&self, now: Instant) -> Option<Duration> {
        self.ready.front()?;
        let waits = self.batches >= BATCHES && !self.closed;
        let begun = self.batch_begun.filter(|_| waits);
        let since = begun.map(|begun| now.saturating_duration_since(begun));
        Some(since.map_or(Duration::ZERO, |since| PATIENCE.saturating_sub(since)))
    }

    fn drain(&mut self, before: Instant) -> Vec<Queued> {
        let mut drained = Vec::new();
        let (old, rest): (VecDeque<_>, _) = std::mem::take(&mut self.singles)
            .into_iter()
            .partition(|(queued, _)| queued.since <= before);
        self.singles = rest;
        drained.extend(old.into_iter().map(|(queued, _)| queued));
        for line in self.lanes.values_mut() {
            let (old, rest): (VecDeque<_>, _) = std::mem::take(&mut line.waiting)
                .into_iter()
                .partition(|queued| queued.since <= before);
            line.waiting = rest;
            self.in_lanes -= old.len();
            drained.extend(old);
        }
        self.lanes
            .retain(|_, line| line.running || !line.waiting.is_empty());
        let lanes = &self.lanes;
        self.ready.retain(|lane| lanes.contains_key(lane));
        drained
    }
}

/// One of a lane has left its batch, because it would have had to wait for a lock.
fn is_counted((queued, _): &Job) -> bool {
    queued.lane.is_none()
}

impl Singles {
    fn end(&mut self, begun: Instant) {
        if let Some(place) = self.begun.iter().position(|other| *other == begun) {
            self.begun.swap_remove(place);
        }
    }

    fn until_one_more(&self, now: Instant) -> Duration {
        let Some(at_once) = self.at_once else {
            return Duration::ZERO;
        };
        let left = |begun: &Instant| STUCK.saturating_sub(now.saturating_duration_since(*begun));
        let busy = self.begun.iter().map(left).filter(|left| !left.is_zero());
        match busy.clone().count() < at_once {
            true => Duration::ZERO,
            false => busy.min().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
