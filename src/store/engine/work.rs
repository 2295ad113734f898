//! A transaction on its way to a thread of the store, and its answer on the way back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::store::engine::{Left, StoreError, Tx, Wakeups};

/// What the function decided about its writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    Undo,
}

pub trait Work: Send {
    /// Runs the function; it may run again when the engine has to retry the transaction.
    fn run(&mut self, tx: &mut Tx<'_>) -> Verdict;

    /// Sends the answer. `durable` tells whether what was to be kept has been kept.
    fn answer(self: Box<Self>, durable: Result<(), StoreError>);
}

pub struct Closure<F, T, E> {
    work: F,
    result: Option<Result<T, E>>,
    left: Left,
    /// Rung once what was left is durable.
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
            left: Left::default(),
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
    fn run(&mut self, tx: &mut Tx<'_>) -> Verdict {
        // A panic must not take the writer thread, and with it everybody else's writes, along.
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(tx)))
            .unwrap_or_else(|_| Err(StoreError::Failed("a transaction panicked".into()).into()));
        let verdict = if result.is_ok() {
            Verdict::Keep
        } else {
            Verdict::Undo
        };
        self.result = Some(result);
        self.left = std::mem::take(&mut tx.left);
        verdict
    }

    fn answer(self: Box<Self>, durable: Result<(), StoreError>) {
        let kept = durable.is_ok() && matches!(self.result, Some(Ok(_)));
        if let Some(wakeups) = self.wakeups.as_ref().filter(|_| kept) {
            wakeups.ring(&self.left);
        }
        let answer = match (durable, self.result) {
            // A refusal is a refusal, whatever became of the writes around it.
            (_, Some(Err(refusal))) => Err(refusal),
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(ok)) => ok,
            (Ok(()), None) => Err(StoreError::Failed("a transaction never ran".into()).into()),
        };
        // The asker may have gone away; what it asked for is done all the same.
        let _ = self.reply.send(answer);
    }
}
