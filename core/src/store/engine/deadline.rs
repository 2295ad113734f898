//! How long a caller waits for the database.
//!
//! A request has a number of seconds for all its transactions together. Only waiting for the database
//! uses them up: a slow upload or a slow payment processor has limits of its own. Whatever runs outside
//! of a request has no such limit; there, each round trip to the database is bounded.
//!
//! A request is admitted once, with its first transaction (`admission.rs`).

use std::cell::Cell;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::store::engine::StoreError;

/// The thread that runs a transaction knows best how it ended, so its caller waits a little longer
/// than the thread does.
pub const GRACE: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Arrived,
    /// A processor has got to it, and it asks the database.
    Begun,
    /// What it has begun, it may finish.
    Admitted,
}

tokio::task_local! {
    /// How much longer the current request may wait.
    static LEFT: Cell<Duration>;
    /// How far the current request has come.
    static STAGE: Cell<Stage>;
}

/// Runs a future whose transactions wait for the database for this long altogether. One that would
/// wait longer fails as unavailable. An async function would have room for it twice.
pub fn within<F: Future>(limit: Duration, work: F) -> impl Future<Output = F::Output> {
    let limited = LEFT.scope(Cell::new(limit), work);
    STAGE.scope(Cell::new(Stage::Arrived), limited)
}

/// The same for work outside of requests, which is always admitted.
pub async fn background_within<F: Future>(limit: Duration, work: F) -> F::Output {
    LEFT.scope(Cell::new(limit), work).await
}

/// Whether a request asks that has not been admitted yet.
pub fn is_first_of_a_request() -> bool {
    STAGE.try_with(|stage| stage.get() != Stage::Admitted) == Ok(true)
}

/// Whether a request asks for the first time. True once.
pub fn begins_a_request() -> bool {
    STAGE.try_with(|stage| {
        let arrived = stage.get() == Stage::Arrived;
        if arrived {
            stage.set(Stage::Begun);
        }
        arrived
    }) == Ok(true)
}

pub fn admit_request() {
    let _ = STAGE.try_with(|stage| stage.set(Stage::Admitted));
}

/// A caller that waits for one transaction.
pub struct Waiting {
    pub begun: Instant,
    pub deadline: Option<Instant>,
    /// How much longer the request could wait when this began.
    left: Option<Duration>,
}

impl Waiting {
    pub fn begin() -> Self {
        let begun = Instant::now();
        let left = LEFT.try_with(Cell::get).ok();
        Self {
            begun,
            deadline: left.map(|left| begun + left),
            left,
        }
    }

    /// Waits for the answer, but not beyond the deadline. After that nobody knows whether the
    /// transaction will be committed, unless it was still queued: then it will not run.
    pub async fn for_answer<T, E: From<StoreError>>(
        self,
        answer: oneshot::Receiver<Result<T, E>>,
    ) -> Result<T, E> {
        let answered = match self.deadline {
            Some(deadline) => tokio::time::timeout_at((deadline + GRACE).into(), answer).await,
            None => Ok(answer.await),
        };
        if let Some(had) = self.left {
            // Transactions that wait at the same time use up the same seconds.
            let has = had.saturating_sub(self.begun.elapsed());
            let _ = LEFT.try_with(|left| left.set(left.get().min(has)));
        }
        match answered {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(StoreError::Unavailable("the store is shutting down".into()).into()),
            Err(_) => Err(too_late().into()),
        }
    }
}

pub fn too_late() -> StoreError {
    StoreError::Unavailable("the database did not answer in time".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left() -> Option<Duration> {
        LEFT.try_with(Cell::get).ok()
    }

    #[tokio::test]
    async fn only_requests_have_a_deadline() {
        assert!(Waiting::begin().deadline.is_none());
        let limit = Duration::from_secs(60);
        within(limit, async {
            let waiting = Waiting::begin();
            assert_eq!(waiting.deadline, Some(waiting.begun + limit));
        })
        .await;
    }

    #[tokio::test]
    async fn waiting_uses_up_what_a_request_has() {
        let limit = Duration::from_secs(60);
        within(limit, async {
            let (reply, answer) = oneshot::channel::<Result<(), StoreError>>();
            let mut waiting = Waiting::begin();
            waiting.begun -= Duration::from_secs(20);
            reply.send(Ok(())).unwrap();
            waiting.for_answer(answer).await.unwrap();
            assert!(left().unwrap() <= Duration::from_secs(40));
            assert!(left().unwrap() > Duration::from_secs(1));
        })
        .await;
    }

    #[tokio::test]
    async fn those_who_wait_at_the_same_time_use_up_the_same_seconds() {
        within(Duration::from_secs(60), async {
            let waiting = [Waiting::begin(), Waiting::begin(), Waiting::begin()];
            for mut waiting in waiting {
                let (reply, answer) = oneshot::channel::<Result<(), StoreError>>();
                waiting.begun -= Duration::from_secs(30);
                reply.send(Ok(())).unwrap();
                waiting.for_answer(answer).await.unwrap();
            }
            assert!(left().unwrap() <= Duration::from_secs(30));
            assert!(left().unwrap() > Duration::from_secs(1));
        })
        .await;
    }

    #[tokio::test]
    async fn nobody_waits_beyond_the_deadline() {
        within(Duration::ZERO, async {
            let (_reply, answer) = oneshot::channel::<Result<(), StoreError>>();
            let late = Waiting::begin().for_answer(answer).await;
            assert!(matches!(late, Err(StoreError::Unavailable(_))));
        })
        .await;
    }
}
