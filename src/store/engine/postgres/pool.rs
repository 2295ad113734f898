//! The threads of the pool. One that has a connection takes transactions from the queue. One that has
//! none connects, apart from the queue. Only when no thread has a connection does one of them take
//! transactions all the same: it tries to connect, and refuses them if it cannot.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded, never, select};

use crate::store::engine::migrate::Migration;
use crate::store::engine::postgres::connector::Connector;
use crate::store::engine::postgres::session::Session;
use crate::store::engine::postgres::{Mode, migrate_under_lock, transact};
use crate::store::engine::work::Queued;
use crate::store::engine::{Load, StoreError};

/// How many transactions may wait for a connection. More are refused.
const QUEUE: usize = 20_000;
/// How long a thread waits before it tries to connect again: at first, and at most while nobody has a
/// connection. If others have one, the server works and allows no more for now.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE_OF_ONE: Duration = Duration::from_secs(10);
/// When the store is closed, threads that wait for a server that hangs are left behind after this time.
const STOP_WITHIN: Duration = Duration::from_secs(3);

type Job = (Queued, Mode);

pub struct Engine {
    queue: Option<Sender<Job>>,
    /// Asks one thread without a connection to connect.
    more: Option<Sender<()>>,
    pool: Arc<Pool>,
    /// Disconnected once all threads have ended.
    ended: Receiver<()>,
}

struct Pool {
    connector: Connector,
    size: usize,
    busy: AtomicUsize,
    stopping: AtomicBool,
    /// For what a thread could not run. None once the store is closed.
    returns: Mutex<Option<Sender<Job>>>,
    waiting: Receiver<Job>,
    more: Receiver<()>,
}

impl Engine {
    pub fn open(
        url: &str,
        connections: usize,
        migrations: &'static [Migration],
    ) -> Result<Self, StoreError> {
        let connector = Connector::new(url)?;
        let mut first = Session::new(connector.clone())?;
        migrate_under_lock(&mut first, migrations)?;
        let (queue, waiting) = bounded(QUEUE);
        let (more, wanted) = bounded(1);
        let size = connections.max(1);
        let pool = Arc::new(Pool {
            connector: connector.clone(),
            size,
            busy: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            returns: Mutex::new(Some(queue.clone())),
            waiting,
            more: wanted,
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
            queue: Some(queue),
            more: Some(more),
            pool,
            ended,
        })
    }

    pub fn run(&self, queued: Queued, mode: Mode) -> Result<(), StoreError> {
        let (Some(queue), Some(more)) = (&self.queue, &self.more) else {
            return Err(StoreError::Unavailable("the store is shutting down".into()));
        };
        queue
            .try_send((queued, mode))
            .map_err(|refused| match refused {
                TrySendError::Full(_) => {
                    StoreError::Unavailable("too many transactions are waiting".into())
                }
                TrySendError::Disconnected(_) => {
                    StoreError::Unavailable("the store has stopped".into())
                }
            })?;
        let connected = self.pool.connector.connected();
        if connected < self.pool.size && self.pool.busy.load(Ordering::Relaxed) >= connected {
            let _ = more.try_send(());
        }
        Ok(())
    }

    pub fn load(&self) -> Load {
        Load {
            connections: self.pool.connector.connected(),
            busy: self.pool.busy.load(Ordering::Relaxed),
            queued: self.pool.waiting.len(),
        }
    }
}

impl Drop for Engine {
    /// Waits until what is queued has run, unless the server hangs.
    fn drop(&mut self) {
        self.pool.stopping.store(true, Ordering::Relaxed);
        self.queue = None;
        self.more = None;
        let returns = self.pool.returns.lock();
        *returns.unwrap_or_else(PoisonError::into_inner) = None;
        if self.ended.recv_timeout(STOP_WITHIN) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("PostgreSQL does not answer; its connections were left as they are");
        }
    }
}

/// What a thread without a connection does next.
enum Next {
    Connect,
    /// No thread has a connection, and somebody waits for an answer.
    Answer(Job),
    Stop,
}

impl Pool {
    fn serve(&self, mut session: Session) {
        // Nobody may need the connection of this thread. One that had a connection gets it back.
        let mut pause = None;
        loop {
            if session.is_connected() {
                pause = Some(Duration::ZERO);
                let Ok((queued, mode)) = self.waiting.recv() else {
                    return;
                };
                self.run(&mut session, queued, mode);
                continue;
            }
            match self.next(pause) {
                Next::Stop => return,
                Next::Connect => self.connect(&mut session),
                Next::Answer((queued, mode)) => self.run(&mut session, queued, mode),
            }
            let longest = match self.connector.connected() {
                0 => LONGEST_PAUSE,
                _ => LONGEST_PAUSE_OF_ONE,
            };
            pause = Some(longer(pause, longest));
        }
    }

    fn next(&self, pause: Option<Duration>) -> Next {
        let Some(pause) = pause else {
            return self.more.recv().map_or(Next::Stop, |()| Next::Connect);
        };
        if self.stopping.load(Ordering::Relaxed) && self.waiting.is_empty() {
            return Next::Stop;
        }
        let queue = match self.connector.connected() {
            0 => self.waiting.clone(),
            _ => never(),
        };
        select! {
            recv(queue) -> job => job.map_or(Next::Stop, Next::Answer),
            default(pause) => Next::Connect,
        }
    }

    fn connect(&self, session: &mut Session) {
        if session.connect().is_err() {
            self.refuse_all();
        }
    }

    fn run(&self, session: &mut Session, queued: Queued, mode: Mode) {
        let Some(mut queued) = queued.taken() else {
            return;
        };
        self.busy.fetch_add(1, Ordering::Relaxed);
        // If its connection turns out to be lost, another thread may have one.
        let gives_back = !queued.returned && self.connector.connected() > 1;
        let committed = transact(session, &mut queued, mode, !gives_back);
        match committed {
            Err(error) if gives_back && session.lost_before_commit() => {
                self.give_back(queued, mode, error);
            }
            Err(error) => {
                let connected = session.is_connected();
                queued.refuse(error);
                if !connected {
                    self.refuse_all();
                }
            }
            Ok(()) => queued.work.answer(Ok(())),
        }
        session.finish_reading();
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    fn give_back(&self, mut queued: Queued, mode: Mode, error: StoreError) {
        queued.returned = true;
        metrics::counter!("legwork_pool_retries_total").increment(1);
        self.queue_again(queued, mode, error);
    }

    fn queue_again(&self, queued: Queued, mode: Mode, error: StoreError) {
        let returns = self.returns.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(queue) = returns.as_ref() else {
            return queued.refuse(error);
        };
        if let Err(full) = queue.try_send((queued, mode)) {
            full.into_inner().0.refuse(error);
        }
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
        for (queued, mode) in self.waiting.try_iter().take(self.waiting.len()) {
            if queued.since <= begun {
                queued.refuse(error.clone());
            } else {
                self.queue_again(queued, mode, error.clone());
            }
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
