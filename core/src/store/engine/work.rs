//! A transaction that is sent to a thread of the store, and the answer that comes back.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use metrics::histogram;
use tokio::sync::oneshot;

use crate::seal::Keyring;
use crate::store::engine::admission::Place;
use crate::store::engine::deadline::{Waiting, too_late};
use crate::store::engine::{StoreError, ToWake, Tx, Wakeups};

/// Whether the writes of the function are to be committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Commit,
    RollBack,
}

/// The transactions that write the same rows again and again: those of one account. They run one after
/// the other.
pub type Lane = u128;

/// A transaction in a queue.
pub struct Queued {
    pub work: Work,
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
    pub fn new(work: Work, waiting: &Waiting) -> Self {
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

    /// Answers it without running it. If it ran before, what it returned counts no more: it may have seen what others
    /// had written and what is undone now.
    pub fn refuse(mut self, error: StoreError) {
        self.work.forget();
        self.work.answer(Err(error));
    }
}

/// What the function of a transaction returned, of whatever type: its value, or its error. The engines
/// know no types of results, so they are compiled once and not once for each.
pub type Returned = Box<dyn Any + Send>;

/// Why a transaction has no value.
pub enum Fault {
    /// The error of its function.
    Own(Returned),
    Store(StoreError),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What a caller gets.
pub type Reply = Result<Returned, Fault>;

type Body = dyn FnMut(&mut Tx<'_>) -> Result<Returned, Returned> + Send;

/// The function of a transaction, with what it needs beside the database.
pub struct Function {
    body: Box<Body>,
    /// What opens sealed texts.
    pub keyring: Option<Arc<Keyring>>,
    /// Nobody sends mail.
    pub keeps_mail: bool,
    /// Notified once the transaction is committed.
    pub wakeups: Option<Arc<Wakeups>>,
}

impl Function {
    pub fn new<T, E, F>(mut function: F) -> Self
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        Self {
            body: Box::new(move |tx| match function(tx) {
                Ok(value) => Ok(Box::new(value)),
                Err(error) => Err(Box::new(error)),
            }),
            keyring: None,
            keeps_mail: false,
            wakeups: None,
        }
    }
}

/// Gives a reply the types of the function that it is for.
pub fn typed<T: 'static, E: From<StoreError> + 'static>(reply: Reply) -> Result<T, E> {
    let returned = match reply {
        Ok(value) => value.downcast().map(|value| Ok(*value)),
        Err(Fault::Own(error)) => error.downcast().map(|error| Err(*error)),
        Err(Fault::Store(error)) => return Err(error.into()),
    };
    returned.unwrap_or_else(|_| Err(StoreError::Failed("a result of another type".into()).into()))
}

/// A transaction that somebody waits for.
pub struct Work {
    function: Function,
    result: Option<Result<Returned, Fault>>,
    to_wake: ToWake,
    reply: oneshot::Sender<Reply>,
}

impl Work {
    pub fn new(function: Function) -> (Self, oneshot::Receiver<Reply>) {
        let (reply, answer) = oneshot::channel();
        let work = Self {
            function,
            result: None,
            to_wake: ToWake::default(),
            reply,
        };
        (work, answer)
    }

    /// What it returned counts no more: it is undone.
    pub fn forget(&mut self) {
        self.result = None;
    }

    /// Runs the function. The engine may run it again to retry the transaction.
    pub fn run(&mut self, tx: &mut Tx<'_>) -> Outcome {
        tx.keyring.clone_from(&self.function.keyring);
        tx.keeps_mail = self.function.keeps_mail;
        // A panic must not end the writer thread, on which all other writes depend.
        let result = match catch_unwind(AssertUnwindSafe(|| (self.function.body)(tx))) {
            Ok(result) => result.map_err(Fault::Own),
            Err(_) => Err(StoreError::Failed("the transaction panicked".into()).into()),
        };
        let outcome = if result.is_ok() {
            Outcome::Commit
        } else {
            Outcome::RollBack
        };
        self.result = Some(result);
        self.to_wake = std::mem::take(&mut tx.to_wake);
        outcome
    }

    /// Sends the answer. `committed` is the result of the commit.
    pub fn answer(self, committed: Result<(), StoreError>) {
        let kept = committed.is_ok() && matches!(self.result, Some(Ok(_)));
        if let Some(wakeups) = self.function.wakeups.filter(|_| kept) {
            wakeups.notify(&self.to_wake);
        }
        let answer = match (committed, self.result) {
            // It ran alone and failed: its own error says more than that of the transaction.
            (_, Some(Err(error))) => Err(error),
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(ok)) => ok,
            (Ok(()), None) => Err(StoreError::Failed("the transaction did not run".into()).into()),
        };
        // The caller may have gone away; its transaction is committed all the same.
        let _ = self.reply.send(answer);
    }
}
