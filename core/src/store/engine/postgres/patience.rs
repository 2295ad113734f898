//! Waits for a round trip, and knows when to stop waiting.
//!
//! A statement that takes long may run on a server that works, or on one that hangs. Every now and
//! then a new connection tells the difference. A server that hangs is given up at once, so that
//! another one can be found. On one that works, the statement is cancelled when its time is up.

use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::time::{timeout, timeout_at};

use crate::store::engine::StoreError;
use crate::store::engine::deadline::too_late;
use crate::store::engine::postgres::connect::connector::{Connector, Link};

/// How long a round trip takes before anybody asks whether the server still answers, and how long
/// until the question is asked again.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long the server may take to say that it has cancelled a statement.
const CANCELLED_WITHIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RoundTrip {
    Statement,
    /// Never cancelled: a commit that waits for a standby would end without it, as if it had
    /// succeeded.
    Commit,
}

pub struct Patience<'a> {
    pub connector: &'a Connector,
    pub link: &'a Link,
    pub limit: Instant,
    pub kind: RoundTrip,
}

impl Patience<'_> {
    /// An error means that the server has not answered and that the connection is of no more use.
    pub async fn wait<T>(&self, round_trip: impl Future<Output = T>) -> Result<T, StoreError> {
        let mut round_trip = pin!(round_trip);
        loop {
            let until = self.limit.min(Instant::now() + LOOK_EVERY);
            if let Ok(answer) = timeout_at(until.into(), &mut round_trip).await {
                return Ok(answer);
            }
            if Instant::now() >= self.limit {
                break;
            }
            tokio::select! {
                answer = &mut round_trip => return Ok(answer),
                answers = timeout_at(self.limit.into(), self.connector.answers(&self.link.host)) => {
                    if answers == Ok(false) {
                        return Err(silent());
                    }
                }
            }
        }
        if self.kind == RoundTrip::Commit {
            return Err(too_late());
        }
        let token = self.link.client.cancel_token();
        tokio::select! {
            _ = &mut round_trip => {}
            () = self.connector.cancel(token) => {
                let _ = timeout(CANCELLED_WITHIN, &mut round_trip).await;
            }
        }
        // Nobody knows when the server acts on a cancel request. If the statement ended by itself, it
        // would hit the next one, so the connection is not used again.
        Err(too_late())
    }
}

fn silent() -> StoreError {
    StoreError::Unavailable("PostgreSQL does not answer any more".into())
}
