//! Waiting for a task.

use std::time::Duration;

use crate::events::StreamOptions;
use crate::operations::Tasks;
use crate::{Error, Result, Status, Task};

/// How long the look may take that tells what a task is when the time is over.
const LAST_LOOK: Duration = Duration::from_secs(3);

impl Tasks {
    /// Waits until a task has one of these statuses, and returns it. It listens to the task's events,
    /// so it takes no requests while nothing happens. A task that is over without having one of them is
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
        // Connected first, so that nothing happens unseen between the look and the wait.
        stream.connect().await?;
        loop {
            let task = self.get(id).await?;
            if statuses.contains(&task.status) {
                return Ok(task);
            }
            if task.status.is_final() {
                return Err(Error::TaskEnded {
                    status: task.status.to_string(),
                });
            }
            stream.next().await?;
        }
    }

    async fn look_once_more(&self, id: &str, statuses: &[Status], limit: Duration) -> Result<Task> {
        let look = tokio::time::timeout(LAST_LOOK, self.get(id));
        let Ok(task) = look.await else {
            return Err(Error::Timeout {
                url: self.0.base_url().to_owned(),
            });
        };
        let task = task?;
        if statuses.contains(&task.status) {
            return Ok(task);
        }
        Err(Error::StillWaiting {
            status: task.status.to_string(),
            seconds: limit.as_secs(),
        })
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
