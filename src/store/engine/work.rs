//! A transaction that is sent to a thread of the store, and the answer that comes back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use metrics::histogram;
use tokio::sync::oneshot;

use crate::store::engine::admission::Place;
use crate::store::engine::deadline::{Waiting, too_late};
use crate::store::engine::{StoreError, ToWake, Tx, Wakeups};

/// Whether the writes of the function are to be committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Commit,
    RollBack,
}

pub trait Work: Send {
    /// Runs the function. The engine may run it again to retry the transaction.
    fn run(&mut self, tx: &mut Tx<'_>) -> Outcome;

    /// Sends the answer. `committed` is the result of the commit.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// The transactions that write the same rows again and again: those of one account. They run one after
/// the other.
pub type Lane = u128;

/// A transaction in a queue.
pub struct Queued {
    pub work: Box<dyn Work>,
    pub lane: Option<Lane>,
    /// After it, nobody waits for the transaction any more.
    pub deadline: Option<Instant>,
    pub since: Instant,
    /// A thread took it and gave it back because its connection was lost.
    pub returned: bool,
    /// Its place in the queue.
    pub place: Option<Place>,
}

impl Queued {
    pub fn new(work: Box<dyn Work>, waiting: &Waiting) -> Self {
        Self {
            work,
            lane: None,
            deadline: waiting.deadline,
            since: waiting.begun,
            returned: false,
            place: None,
        }
    }

    pub fn in_lane(mut self, lane: Option<Lane>) -> Self {
        self.lane = lane;
        self
    }

    /// Takes it out of the queue, unless its caller has been told already that it was too late.
    pub fn taken(mut self) -> Option<Self> {
        self.place = None;
        let now = Instant::now();
        histogram!("legwork_transaction_wait_seconds").record(now - self.since);
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.refuse(too_late());
            return None;
        }
        Some(self)
    }

    /// Answers it without running it.
    pub fn refuse(self, error: StoreError) {
        self.work.answer(Err(error));
    }
}

pub struct Closure<F, T, E> {
    work: F,
    result: Option<Result<T, E>>,
    to_wake: ToWake,
    /// Notified once the transaction is committed.
    wakeups: Option<Arc<Wakeups>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<F, T, E> Closure<F, T, E>
where
    F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    pub fn boxed(
        work: F,
        wakeups: Option<Arc<Wakeups>>,
    ) -> (Box<dyn Work>, oneshot::Receiver<Result<T, E>>) {
        let (reply, answer) = oneshot::channel();
        let closure = Self {
            work,
            result: None,
            to_wake: ToWake::default(),
            wakeups,
            reply,
        };
        (Box::new(closure), answer)
    }
}

impl<F, T, E> Work for Closure<F, T, E>
where
    F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Outcome {
        // A panic must not end the writer thread, on which all other writes depend.
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(tx)))
            .unwrap_or_else(|_| Err(StoreError::Failed("the transaction panicked".into()).into()));
        let outcome = if result.is_ok() {
            Outcome::Commit
        } else {
            Outcome::RollBack
        };
        self.result = Some(result);
        self.to_wake = std::mem::take(&mut tx.to_wake);
        outcome
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let kept = committed.is_ok() && matches!(self.result, Some(Ok(_)));
        if let Some(wakeups) = self.wakeups.as_ref().filter(|_| kept) {
            wakeups.notify(&self.to_wake);
        }
        let answer = match (committed, self.result) {
            // The function failed: its own error counts, not that of the commit.
            (_, Some(Err(error))) => Err(error),
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(ok)) => ok,
            (Ok(()), None) => Err(StoreError::Failed("the transaction did not run".into()).into()),
        };
        // The caller may have gone away; its transaction is committed all the same.
        let _ = self.reply.send(answer);
    }
}
