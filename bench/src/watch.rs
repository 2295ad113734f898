//! Reports when a job is done. A finished job is deleted together with recording its result, so one
//! query of the existing jobs serves all who wait: it adds little load.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use legwork::domain::JobName;
use legwork::store::{ListedJob, Store, StoreError};
use tokio::sync::oneshot;

use crate::options::CONNECTIONS;

const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The maximum wait for a job. A job that was retried takes a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// Each life has one job at a time.
const AT_ONCE: i64 = 2 * CONNECTIONS as i64;

type Done = Result<(), String>;

pub struct Watch {
    store: Store,
    waiting: Mutex<Vec<(JobName, oneshot::Sender<Done>)>>,
}

impl Watch {
    pub fn new(store: Store) -> Self {
        Self {
            store,
            waiting: Mutex::default(),
        }
    }

    /// Waits for a job that already exists.
    pub async fn done(&self, job: JobName) -> Done {
        let name = job.to_string();
        let (sender, done) = oneshot::channel();
        self.wait(vec![(job, sender)]);
        match tokio::time::timeout(PATIENCE, done).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => Err(format!("no one is watching {name}")),
            Err(_) => Err(format!("{name} takes too long")),
        }
    }

    /// Polls until it is dropped.
    pub async fn look(&self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            // Taken before the query, so their jobs existed by then.
            let waiting = std::mem::take(&mut *self.lock());
            if waiting.is_empty() {
                continue;
            }
            let jobs = self.jobs().await.map_err(text);
            let mut still = Vec::new();
            for (name, sender) in waiting {
                match verdict(&jobs, &name) {
                    // A caller may have stopped waiting.
                    Some(done) => drop(sender.send(done)),
                    None => still.push((name, sender)),
                }
            }
            self.wait(still);
        }
    }

    async fn jobs(&self) -> Result<HashMap<JobName, ListedJob>, StoreError> {
        let listed = self
            .store
            .read(|tx| tx.jobs_after(false, None, AT_ONCE))
            .await?;
        let by_name = listed.into_iter().map(|job| (job.name.clone(), job));
        Ok(by_name.collect())
    }

    fn wait(&self, more: Vec<(JobName, oneshot::Sender<Done>)>) {
        self.lock().extend(more);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(JobName, oneshot::Sender<Done>)>> {
        // Nothing panics while it is locked.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `None` while the job is not done.
fn verdict(jobs: &Result<HashMap<JobName, ListedJob>, String>, name: &JobName) -> Option<Done> {
    match jobs {
        Err(error) => Some(Err(error.clone())),
        Ok(jobs) => match jobs.get(name) {
            None => Some(Ok(())),
            Some(job) if job.run_at.is_none() => {
                let reason = job.last_error.as_deref().unwrap_or("unknown reason");
                Some(Err(format!("{name} was given up: {reason}")))
            }
            Some(_) => None,
        },
    }
}

/// Errors cross threads as text.
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
