//! The threads of the pool. One that has a connection takes transactions from the queue. One that has
//! none connects, apart from the queue. Only when no thread has a connection does one of them take
//! transactions all the same: it tries to connect, and refuses them if it cannot.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::store::engine::admission::Admission;
use crate::store::engine::migrate::Migration;
use crate::store::engine::postgres::connect::connector::Connector;
use crate::store::engine::postgres::connect::pooler;
use crate::store::engine::postgres::session::Session;
use crate::store::engine::postgres::writes::batch::{Batch, Outcome};
use crate::store::engine::postgres::writes::queues::{Next, Queues, Turn};
use crate::store::engine::postgres::{Mode, migrating, transact};
use crate::store::engine::work::{Lane, Queued};
use crate::store::engine::{Load, StoreError};

/// How long a thread waits before it tries to connect again: at first, and at most while nobody has a
/// connection. If others have one, the server works and allows no more for now.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE_OF_ONE: Duration = Duration::from_secs(10);
/// However few processors there are.
const FEWEST_AT_ONCE: usize = 2;
/// When the store is closed, threads that wait for a server that hangs are left behind after this time.
const STOP_WITHIN: Duration = Duration::from_secs(3);

pub struct Engine {
    pool: Arc<Pool>,
    admission: Admission,
    /// Disconnected once all threads have ended.
    ended: Receiver<()>,
}

struct Pool {
    connector: Connector,
    size: usize,
    /// So many single transactions run at the same time on a server of this machine.
    at_once_here: usize,
    busy: AtomicUsize,
    queues: Queues,
    /// Asks one thread without a connection to connect. None once the store is closed.
    more: Mutex<Option<Sender<()>>>,
    wanted: Receiver<()>,
}

impl Engine {
    pub fn open(
        url: &str,
        connections: usize,
        migrations: &'static [Migration],
    ) -> Result<Self, StoreError> {
        let connector = Connector::new(url)?;
        pooler::examine(&connector)?;
        let mut first = Session::new(connector.clone())?;
        migrating::migrate(&mut first, &connector, migrations)?;
        let (more, wanted) = bounded(1);
        let size = connections.max(1);
        let processors = available_parallelism().map_or(1, usize::from);
        let pool = Arc::new(Pool {
            connector: connector.clone(),
            size,
            at_once_here: processors.max(FEWEST_AT_ONCE),
            busy: AtomicUsize::new(0),
            queues: Queues::default(),
            more: Mutex::new(Some(more)),
            wanted,
        });
        let (alive, ended) = bounded(0);
        let mut sessions = vec![first];
        for _ in 1..size {
            sessions.push(Session::new(connector.clone())?);
        }
        for session in sessions {
            let (pool, alive) = (pool.clone(), alive.clone());
            std::thread::Builder::new()
                .name("postgres".to_owned())
                .spawn(move || {
                    let _alive = alive;
                    pool.serve(session);
                })
                .map_err(|e| StoreError::Unavailable(e.to_string()))?;
        }
        Ok(Self {
            pool,
            admission: Admission::default(),
            ended,
        })
    }

    pub fn run(&self, mut queued: Queued, mode: Mode) -> Result<(), StoreError> {
        queued.place = Some(self.admission.admit()?);
        self.pool.queues.push(queued, mode)?;
        self.pool.ask_for_more();
        Ok(())
    }

    /// Asked before a lookup whose caller will have a transaction next.
    pub fn expects_to_admit(&self) -> Result<(), StoreError> {
        self.admission.expects_to_admit()
    }

    pub fn connector(&self) -> &Connector {
        &self.pool.connector
    }

    pub fn load(&self) -> Load {
        Load {
            connections: self.pool.connector.connected(),
            busy: self.pool.busy.load(Ordering::Relaxed),
            queued: self.pool.queues.len(),
        }
    }
}

impl Drop for Engine {
    /// Waits until what is queued has run, unless the server hangs.
    fn drop(&mut self) {
        self.pool.queues.close();
        *self.pool.more() = None;
        if self.ended.recv_timeout(STOP_WITHIN) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("PostgreSQL does not answer; its connections were left as they are");
        }
    }
}

impl Pool {
    fn serve(&self, mut session: Session) {
        // Nobody may need the connection of this thread. One that had a connection gets it back.
        let mut pause = None;
        loop {
            if session.is_connected() {
                pause = Some(Duration::ZERO);
                let Some(next) = self.queues.next(self.at_once()) else {
                    return;
                };
                self.run_next(&mut session, next);
                continue;
            }
            match pause {
                None if self.wanted.recv().is_err() => return,
                None => self.connect(&mut session),
                Some(_) if self.queues.is_over() => return,
                Some(pause) => self.wait_and_connect(&mut session, pause),
            }
            let longest = match self.connector.connected() {
                0 => LONGEST_PAUSE,
                _ => LONGEST_PAUSE_OF_ONE,
            };
            pause = Some(longer(pause, longest));
        }
    }

    /// How many single transactions may run at the same time. Another machine has processors of its own.
    fn at_once(&self) -> Option<usize> {
        self.connector.is_here().then_some(self.at_once_here)
    }

    /// When no thread has a connection and somebody waits for an answer, it connects at once.
    fn wait_and_connect(&self, session: &mut Session, pause: Duration) {
        if self.connector.connected() > 0 {
            std::thread::sleep(pause);
        } else if let Some(next) = self.queues.next_within(pause) {
            return self.run_next(session, next);
        }
        self.connect(session);
    }

    fn run_next(&self, session: &mut Session, next: Next) {
        self.busy.fetch_add(1, Ordering::Relaxed);
        // What came while this one was still thought to be free would wait for it alone, as long as it may wait for a lock.
        if self.queues.has_unclaimed() {
            self.ask_for_more();
        }
        match next {
            Next::One(single) => {
                let (queued, mode) = single.job;
                let turn = self.queues.turn(single.begun);
                self.run(session, queued, mode, turn);
            }
            Next::Lanes(lanes) => self.run_lanes(session, lanes),
        }
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// Asks for one more connection if all that there are are busy.
    fn ask_for_more(&self) {
        let connected = self.connector.connected();
        if connected < self.size && self.busy.load(Ordering::Relaxed) >= connected {
            let _ = self.more().as_ref().map(|more| more.try_send(()));
        }
    }

    fn more(&self) -> MutexGuard<'_, Option<Sender<()>>> {
        self.more.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self, session: &mut Session) {
        if session.connect().is_err() {
            self.refuse_all();
        }
    }

    fn run(&self, session: &mut Session, queued: Queued, mode: Mode, mut turn: Turn<'_>) {
        let Some(mut queued) = queued.taken() else {
            return;
        };
        // If its connection turns out to be lost, another thread may have one.
        let gives_back = !queued.returned && self.connector.connected() > 1;
        let committed = transact(session, &mut queued, mode, &mut turn, !gives_back);
        match committed {
            Err(error) if gives_back && session.lost_before_commit() => {
                self.give_back(queued, mode, error);
            }
            Err(error) => {
                let connected = session.is_connected();
                queued.work.answer(Err(error));
                if !connected {
                    self.refuse_all();
                }
            }
            Ok(()) => queued.work.answer(Ok(())),
        }
        session.finish_reading();
    }

    /// Runs what waits in these lanes. They are free for others as soon as possible.
    fn run_lanes(&self, session: &mut Session, mut lanes: Vec<Lane>) {
        if !session.is_connected() && session.connect().is_err() {
            self.queues.end_batch(&lanes);
            return self.refuse_all();
        }
        // All processes take them in the same order, so batches do not wait for each other in a circle.
        lanes.sort_unstable();
        let mut batch = Batch::default();
        let outcome = batch.run(session, &self.queues, &lanes);
        let alone = self.settle(batch, outcome);
        // Whoever waits for an account's lock keeps its lane, so that not all connections wait for it.
        let is_kept = |lane: &Lane| alone.iter().any(|queued| queued.lane == Some(*lane));
        let (kept, free): (Vec<Lane>, Vec<Lane>) = lanes.into_iter().partition(is_kept);
        self.queues.end_batch(&free);
        for queued in alone {
            self.run(session, queued, Mode::Write, self.queues.turn(None));
        }
        self.queues.release(&kept);
        if !session.is_connected() {
            self.refuse_all();
        }
    }

    /// Answers what a batch has decided, and returns what has to be run alone.
    fn settle(&self, batch: Batch, outcome: Outcome) -> Vec<Queued> {
        let (parts, leaving, guilty) = batch.into_parts();
        let mut alone = Vec::new();
        match outcome {
            Outcome::Committed => parts.into_iter().for_each(|part| part.work.answer(Ok(()))),
            Outcome::Dissolved => alone = parts,
            // One that was given back before connects anew, if it has to.
            Outcome::Lost(error) => {
                let returned: (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.returned);
                alone = returned.0;
                for part in returned.1.into_iter().rev() {
                    self.give_back(part, Mode::Write, error.clone());
                }
            }
            Outcome::Unknown(error) => {
                let parts = parts.into_iter();
                parts.for_each(|part| part.refuse(error.clone()));
            }
        }
        for queued in leaving {
            self.queues.push_alone(queued);
        }
        alone.extend(guilty);
        alone
    }

    fn give_back(&self, mut queued: Queued, mode: Mode, error: StoreError) {
        queued.returned = true;
        metrics::counter!("legwork_pool_retries_total").increment(1);
        self.queues.put_back(queued, mode, error);
    }

    /// When nobody has a connection, whoever was waiting before the last attempt began shares its
    /// result. Those who came later get an attempt of their own.
    fn refuse_all(&self) {
        let Some((begun, error)) = self.connector.last_failure() else {
            return;
        };
        if self.connector.connected() > 0 {
            return;
        }
        for queued in self.queues.drain(begun) {
            queued.refuse(error.clone());
        }
    }
}

/// Up to the longest pause, with some randomness so that threads do not keep step.
fn longer(pause: Option<Duration>, longest: Duration) -> Duration {
    let grown = pause.unwrap_or_default() * 3;
    let next = grown.clamp(FIRST_PAUSE, longest);
    let random = u32::from(crate::ambient::random::<1>()[0]);
    next / 2 + next * random / 512
}
