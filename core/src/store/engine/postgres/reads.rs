//! Connections that do nothing but find rows by their keys.
//!
//! While a reader waits for the server, further lookups arrive. It sends all that ask the same thing as
//! one query, so that they share a round trip, a statement and its answer. A lookup that a reader
//! cannot answer goes to the pool, as all do while no reader has a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use tokio::sync::oneshot;
use tokio_postgres::Row as Found;

use crate::store::engine::admission::{Admission, Place};
use crate::store::engine::deadline::Waiting;
use crate::store::engine::postgres::connect::connector::Connector;
use crate::store::engine::{FromRow, Lookup, Row, Statement, StoreError, Value};

mod batch;
mod reader;

use reader::Reader;

/// How many connections only read, out of those that are configured.
const READERS: usize = 2;
/// With fewer connections than this, all of them do everything.
const FEWEST: usize = 4;
/// How many lookups may wait for a reader. More are refused.
const QUEUE: usize = 20_000;
/// When the store is closed, readers that wait for a server that hangs are left behind after this time.
const STOP_WITHIN: Duration = Duration::from_secs(3);

pub struct Readers {
    size: usize,
    queue: Option<Sender<Asked>>,
    /// Asks one reader without a connection to connect.
    more: Option<Sender<()>>,
    admission: Admission,
    connected: Arc<AtomicUsize>,
    /// Disconnected once all threads have ended.
    ended: Receiver<()>,
}

/// A lookup that waits for its answer.
struct Asked {
    statement: Statement,
    values: Vec<Value<'static>>,
    since: Instant,
    deadline: Option<Instant>,
    /// Given back with the answer.
    _place: Option<Place>,
    reply: oneshot::Sender<Result<Option<Found>, Unanswered>>,
}

#[derive(Clone)]
enum Unanswered {
    /// The connection was lost. Another one may have the answer.
    Lost,
    Failed(StoreError),
}

impl From<StoreError> for Unanswered {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl Readers {
    /// How many of so many connections only read.
    pub fn of(connections: usize) -> usize {
        if connections < FEWEST { 0 } else { READERS }
    }

    /// Starts threads, which connect when somebody looks for a row.
    pub fn start(connector: &Connector, size: usize) -> Result<Self, StoreError> {
        let (queue, waiting) = bounded(QUEUE);
        let (more, wanted) = bounded(READERS);
        let (alive, ended) = bounded(0);
        let connected = Arc::<AtomicUsize>::default();
        for _ in 0..size {
            let reader = Reader::new(connector.clone(), connected.clone())?;
            let (waiting, wanted, alive) = (waiting.clone(), wanted.clone(), alive.clone());
            std::thread::Builder::new()
                .name("postgres-reader".to_owned())
                .spawn(move || {
                    let _alive: Sender<()> = alive;
                    reader.serve(&waiting, &wanted);
                })
                .map_err(|e| StoreError::Unavailable(e.to_string()))?;
        }
        Ok(Self {
            size,
            queue: Some(queue),
            more: Some(more),
            admission: Admission::default(),
            connected,
            ended,
        })
    }

    pub fn connected(&self) -> usize {
        self.connected.load(Ordering::SeqCst)
    }

    /// None if no reader can answer now.
    pub async fn find<T: FromRow>(
        &self,
        lookup: &Lookup<T>,
    ) -> Option<Result<Option<T>, StoreError>> {
        let (queue, more) = (self.queue.as_ref()?, self.more.as_ref()?);
        let connected = self.connected();
        if connected < self.size {
            let _ = more.try_send(());
        }
        if connected == 0 {
            return None;
        }
        let place = match self.admission.admit_lookup() {
            Ok(place) => place,
            Err(overloaded) => return Some(Err(overloaded)),
        };
        let waiting = Waiting::begin();
        let (reply, answer) = oneshot::channel();
        let asked = Asked {
            statement: lookup.statement,
            values: lookup.values.clone(),
            since: waiting.begun,
            deadline: waiting.deadline,
            _place: Some(place),
            reply,
        };
        if queue.try_send(asked).is_err() {
            let full = "too many transactions are waiting";
            return Some(Err(StoreError::Unavailable(full.into())));
        }
        // The last reader may have lost its connection since. It must not leave this one waiting.
        if self.connected() == 0 {
            let _ = more.try_send(());
        }
        match waiting.for_answer(answer).await {
            Ok(found) => Some(read(found)),
            Err(Unanswered::Failed(error)) => Some(Err(error)),
            Err(Unanswered::Lost) => None,
        }
    }
}

/// The first column tells whose row it is.
fn read<T: FromRow>(found: Option<Found>) -> Result<Option<T>, StoreError> {
    let row = found.as_ref().map(|found| Row::postgres(found).after(1));
    row.map(Row::read).transpose()
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queue = None;
        self.more = None;
        if self.ended.recv_timeout(STOP_WITHIN) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("PostgreSQL does not answer; its readers were left as they are");
        }
    }
}
