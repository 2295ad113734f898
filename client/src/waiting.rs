//! Waiting for a task.

use std::time::Duration;

use crate::events::StreamOptions;
use crate::http::LONGEST_WAIT;
use crate::operations::Tasks;
use crate::{Error, Result, Status, Task};

/// How often a task is looked at by somebody who waits for it without a stream.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// How long the look may take that tells what a task is when the time is over.
const LAST_LOOK: Duration = Duration::from_secs(3);

impl Tasks {
    /// Waits until a task has one of these statuses, and returns it. It listens to the task's events,
    /// so it takes no requests while nothing happens. When the account has no more streams, it looks every
    /// few seconds instead. A task that is over without having one of them is
    /// [`Error::TaskEnded`]. After the time-out it is [`Error::StillWaiting`]; without one it waits for as
    /// long as it takes.
    pub async fn wait_until(
        &self,
        id: &str,
        statuses: &[Status],
        timeout: Option<Duration>,
    ) -> Result<Task> {
        let Some(limit) = timeout else {
            return self.listen_until(id, statuses).await;
        };
        match tokio::time::timeout(limit, self.listen_until(id, statuses)).await {
            Ok(found) => found,
            Err(_) => self.look_once_more(id, statuses, limit).await,
        }
    }

    async fn listen_until(&self, id: &str, statuses: &[Status]) -> Result<Task> {
        let task_id = Some(id.to_owned());
        let options = StreamOptions {
            task_id,
            ..StreamOptions::default()
        };
        let mut stream = self.0.events().stream(options);
        stream.is_patient = false;
        // Connected first, so that nothing happens unseen between the look and the wait.
        let mut pause = stream.connect().await.map_or_else(instead, |()| Ok(None))?;
        loop {
            if let Some(task) = self.look(id, statuses).await? {
                return Ok(task);
            }
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => pause = stream.next().await.map_or_else(instead, |_| Ok(None))?,
            }
        }
    }

    /// The task if it has one of these statuses, none if it may get one.
    async fn look(&self, id: &str, statuses: &[Status]) -> Result<Option<Task>> {
        let task = self.get(id).await?;
        arrived(&task.status, statuses).map(|is_there| is_there.then_some(task))
    }

    async fn look_once_more(&self, id: &str, statuses: &[Status], limit: Duration) -> Result<Task> {
        let look = tokio::time::timeout(LAST_LOOK, self.get(id));
        let Ok(task) = look.await else {
            return Err(Error::Timeout {
                url: self.0.base_url().to_owned(),
            });
        };
        let task = task?;
        if arrived(&task.status, statuses)? {
            return Ok(task);
        }
        Err(Error::StillWaiting {
            status: task.status.to_string(),
            seconds: limit.as_secs(),
        })
    }
}

/// Whether a task is where it should be. One that can no longer get there is an error.
fn arrived(status: &Status, wanted: &[Status]) -> Result<bool> {
    let is_there = wanted.contains(status);
    if !is_there && status.is_final() {
        return Err(Error::TaskEnded {
            status: status.to_string(),
        });
    }
    Ok(is_there)
}

/// An account has only so many streams. Without one, this is the pause between two looks at the task.
fn instead(error: Error) -> Result<Option<Duration>> {
    match error {
        Error::Api(refused) if refused.status == 429 => {
            let asked = Duration::from_secs(refused.retry_after.unwrap_or(0));
            Ok(Some(asked.clamp(LOOK_EVERY, LONGEST_WAIT)))
        }
        other => Err(other),
    }
}

impl Status {
    /// Whether nothing happens to the task any more.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Cancelled | Self::Expired | Self::Refunded
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApiError, ErrorCode};

    fn refused(status: u16, retry_after: Option<u64>) -> Error {
        Error::Api(Box::new(ApiError {
            status,
            code: ErrorCode::RateLimited,
            message: String::new(),
            request_id: String::new(),
            details: serde_json::Value::Null,
            retry_after,
        }))
    }

    #[test]
    fn a_task_that_has_ended_otherwise_is_not_still_waited_for() {
        let wanted = [Status::ProofSubmitted];
        assert!(!arrived(&Status::Posted, &wanted).unwrap());
        assert!(arrived(&Status::ProofSubmitted, &wanted).unwrap());
        assert!(arrived(&Status::Cancelled, &[Status::Cancelled]).unwrap());
        let ended = arrived(&Status::Cancelled, &wanted);
        assert!(matches!(ended, Err(Error::TaskEnded { .. })), "{ended:?}");
    }

    #[test]
    fn without_a_stream_the_task_is_looked_at_now_and_then() {
        let pause = |after| instead(refused(429, after)).unwrap();
        assert_eq!(pause(None), Some(LOOK_EVERY));
        assert_eq!(pause(Some(5)), Some(Duration::from_secs(5)));
        assert_eq!(pause(Some(3600)), Some(LONGEST_WAIT));
        assert!(instead(refused(403, None)).is_err());
    }
}
