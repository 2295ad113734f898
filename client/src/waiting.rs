//! Waiting for a task.

use std::time::Duration;

use crate::events::StreamOptions;
use crate::operations::Tasks;
use crate::{Error, Result, Status, Task};

impl Tasks {
    /// Waits until a task has one of these statuses, and returns it. It listens to the task's events,
    /// so it takes no requests while nothing happens. After the time-out it is
    /// [`Error::StillWaiting`]; without one it waits for as long as it takes.
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
            Err(_) => Err(Error::StillWaiting {
                status: self.get(id).await?.status.to_string(),
                seconds: limit.as_secs(),
            }),
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
            stream.next().await?;
        }
    }
}
