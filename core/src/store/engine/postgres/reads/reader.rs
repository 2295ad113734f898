//! One reader: a thread with a connection of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use metrics::histogram;
use tokio::runtime::Runtime;
use tokio_postgres::Statement as Prepared;

use super::batch::{self, Values};
use super::{Asked, Found, Unanswered};
use crate::store::engine::deadline::too_late;
use crate::store::engine::postgres::connect::backend::Lost;
use crate::store::engine::postgres::connect::connector::{Connector, Link};
use crate::store::engine::postgres::connect::runtime::own_runtime;
use crate::store::engine::postgres::errors::classify;
use crate::store::engine::postgres::patience::{Patience, RoundTrip};
use crate::store::engine::{Statement, StoreError};

/// The most lookups in one query.
const BATCH: usize = 64;
/// After this time a round trip fails, even if nobody has a deadline.
const ROUND_TRIP: Duration = Duration::from_secs(10);
/// How long a reader that could not connect waits before it tries again.
const PAUSE: Duration = Duration::from_millis(500);

pub struct Reader {
    connector: Connector,
    /// How many readers have a connection.
    connected: Arc<AtomicUsize>,
    /// None once the reader is dropped.
    runtime: Option<Runtime>,
    connection: Option<Connection>,
    /// The connection before this one, if it was not closed in good order.
    lost: Option<Lost>,
}

struct Connection {
    link: Link,
    prepared: HashMap<Statement, Prepared>,
}

impl Reader {
    pub fn new(connector: Connector, connected: Arc<AtomicUsize>) -> Result<Self, StoreError> {
        let runtime = own_runtime()?;
        Ok(Self {
            connector,
            connected,
            runtime: Some(runtime),
            connection: None,
            lost: None,
        })
    }

    /// Answers lookups until the store is closed.
    pub fn serve(mut self, waiting: &Receiver<Asked>, wanted: &Receiver<()>) {
        loop {
            if self.connection.is_some() {
                let Ok(first) = waiting.recv() else {
                    return;
                };
                self.answer_all(first, waiting);
            } else if wanted.recv().is_err() {
                return;
            } else if self.connect().is_err() {
                std::thread::sleep(PAUSE);
            }
            // Without a reader, nobody else answers what was sent to them.
            if self.connected.load(Ordering::SeqCst) == 0 {
                batch::refuse(waiting.try_iter().collect(), &Unanswered::Lost);
            }
        }
    }

    fn answer_all(&mut self, first: Asked, waiting: &Receiver<Asked>) {
        histogram!("legwork_transaction_wait_seconds").record(first.since.elapsed());
        let others = waiting.try_iter().take(BATCH - 1);
        let (mut left, late) = std::iter::once(first)
            .chain(others)
            .partition::<Vec<_>, _>(|asked| asked.deadline.is_none_or(|at| at > Instant::now()));
        batch::refuse(late, &Unanswered::Failed(too_late()));
        while let Some(statement) = left.first().map(|asked| asked.statement) {
            let (same, others) = left
                .into_iter()
                .partition::<Vec<_>, _>(|asked| asked.statement == statement);
            self.answer(statement, same);
            left = others;
        }
    }

    fn answer(&mut self, statement: Statement, asked: Vec<Asked>) {
        match self.query(statement, &asked) {
            Ok(rows) => batch::hand_out(asked, rows),
            // One of them may have a value that PostgreSQL does not take. The others are fine.
            Err(Unanswered::Failed(StoreError::Failed(_))) if asked.len() > 1 => {
                for one in asked {
                    self.answer(statement, vec![one]);
                }
            }
            Err(reason) => batch::refuse(asked, &reason),
        }
    }

    fn query(&mut self, statement: Statement, asked: &[Asked]) -> Result<Vec<Found>, Unanswered> {
        let values = Values::of(asked)?;
        let prepared = self.prepare(statement, &values, asked)?;
        let parameters: Vec<_> = values.iter().map(Values::parameter).collect();
        let answered = self.wait(asked, async |link: &Link| {
            link.client.query(&prepared, &parameters).await
        });
        self.known(answered)
    }

    fn prepare(
        &mut self,
        statement: Statement,
        values: &[Values<'_>],
        asked: &[Asked],
    ) -> Result<Prepared, Unanswered> {
        let connection = self.connection.as_ref().ok_or(Unanswered::Lost)?;
        if let Some(prepared) = connection.prepared.get(&statement) {
            return Ok(prepared.clone());
        }
        let text = batch::text(statement, values);
        let prepared = self.wait(asked, async |link: &Link| link.client.prepare(&text).await);
        let prepared = self.known(prepared)?;
        if let Some(connection) = &mut self.connection {
            connection.prepared.insert(statement, prepared.clone());
        }
        Ok(prepared)
    }

    /// Awaits a round trip, at most until nobody waits for it any more.
    fn wait<T>(
        &self,
        asked: &[Asked],
        round_trip: impl AsyncFnOnce(&Link) -> T,
    ) -> Result<T, Unanswered> {
        let (Some(runtime), Some(connection)) = (&self.runtime, &self.connection) else {
            return Err(Unanswered::Lost);
        };
        let longest = Instant::now() + ROUND_TRIP;
        let deadlines = asked.iter().map(|asked| asked.deadline.unwrap_or(longest));
        let patience = Patience {
            connector: &self.connector,
            link: &connection.link,
            limit: deadlines.max().map_or(longest, |last| last.min(longest)),
            kind: RoundTrip::Statement,
        };
        let answer = runtime.block_on(patience.wait(round_trip(&connection.link)));
        answer.map_err(|_| Unanswered::Lost)
    }

    /// What an answer of the server means; drops the connection if that is lost.
    fn known<T>(
        &mut self,
        answer: Result<Result<T, tokio_postgres::Error>, Unanswered>,
    ) -> Result<T, Unanswered> {
        let reason = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => match classify(&error) {
                (_, true) => Unanswered::Lost,
                (error, false) => Unanswered::Failed(error),
            },
            Err(reason) => reason,
        };
        if matches!(reason, Unanswered::Lost) {
            self.lose();
        }
        Err(reason)
    }

    fn connect(&mut self) -> Result<(), StoreError> {
        let Some(runtime) = &self.runtime else {
            return Err(too_late());
        };
        let link = runtime.block_on(self.connector.connect(self.lost.as_ref()));
        // Tasks of connections that were not used end here, and so do these connections.
        runtime.block_on(tokio::task::yield_now());
        self.connection = Some(Connection {
            link: link?,
            prepared: HashMap::new(),
        });
        self.lost = None;
        self.connected.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Closes the connection at once. The server may still be busy with what was sent.
    fn lose(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        self.connected.fetch_sub(1, Ordering::SeqCst);
        self.lost = Some(Lost {
            host: connection.link.host.index,
            backend: connection.link.backend.clone(),
            at: Instant::now(),
            committing: false,
        });
        drop(connection);
        if let Some(runtime) = &self.runtime {
            runtime.block_on(tokio::task::yield_now());
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.connection.take().is_some() {
            self.connected.fetch_sub(1, Ordering::SeqCst);
        }
        // Looking up a name may block a thread of the runtime. Nobody waits for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
