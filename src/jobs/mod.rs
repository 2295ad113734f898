//! Work that happens later: claimed with a lease, done, recorded; tried again, or given up.
//!
//! Any number of processes share the work. A job is done by whoever claims it; when a process dies,
//! the lease runs out and another one takes over. Each kind of work is one file, which asks the
//! outside world first and then records the answer and the end of the job in one transaction.

mod accounts;
mod announce;
mod charge;
mod give_up;
mod notification;
mod outgoing;
mod post;
mod sandbox_event;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use metrics::{counter, gauge};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::ambient::{self, Clock};
use crate::domain::accounts::api_key::hex;
use crate::domain::job::{MAX_ATTEMPTS, delay};
use crate::domain::{JobKind, Lane, TaskId, Timestamp};
use crate::files::Files;
use crate::mail::Mailer;
use crate::outbound::Outbound;
use crate::payments::{Processor, ProcessorError};
use crate::push::Vapid;
use crate::store::{ClaimedJob, Store, StoreError, Tx};
use crate::usecases::{self, UseCaseError};

/// How long a claimed job belongs to the process that claimed it.
const LEASE: Duration = Duration::from_secs(120);
/// A job that takes longer is given up before its lease ends.
const TIME_LIMIT: Duration = Duration::from_secs(90);
/// How many jobs of each lane a process works on at the same time.
const AT_ONCE: usize = 16;
/// How often a process looks for jobs that nobody told it of: those of other processes, those whose
/// time has come, those whose lease ran out.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What jobs may use.
#[derive(Clone)]
pub struct Jobs {
    store: Store,
    clock: Clock,
    processor: Arc<dyn Processor>,
    files: Files,
    channels: Channels,
}

/// By which ways people are told of something.
#[derive(Clone)]
pub struct Channels {
    /// Without one, what would be mailed is only kept.
    pub mailer: Option<Mailer>,
    pub outbound: Outbound,
    pub vapid: Arc<Vapid>,
    /// Where people find the service.
    pub public_url: String,
    /// Where push services find those who run it: a `mailto:` or `https:` URL.
    pub contact: String,
}

/// How a job ended that did not fail.
enum Done {
    /// The job is gone from the database.
    Finished,
    /// It cannot be done before something happens.
    Waits {
        waits_for: Option<String>,
        look_again: Duration,
    },
}

/// Why a job was not done.
#[derive(Clone, Debug)]
enum Failure {
    /// A peer or the database cannot be reached: tried again for as long as it takes.
    Unavailable(String),
    /// Something that should not happen: tried again a number of times.
    Unexpected(String),
    /// It will never be done.
    Hopeless(String),
    /// Somebody else has the job now, and what this one did is not recorded.
    LeaseLost,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::Unavailable(_) | StoreError::Collision(_) => Self::Unavailable(text),
            StoreError::Failed(_) | StoreError::Incompatible(_) => Self::Unexpected(text),
        }
    }
}

impl From<UseCaseError> for Failure {
    fn from(refusal: UseCaseError) -> Self {
        match refusal {
            UseCaseError::Store(error) => error.into(),
            refusal => Self::Unexpected(refusal.to_string()),
        }
    }
}

impl From<ProcessorError> for Failure {
    fn from(error: ProcessorError) -> Self {
        let text = error.to_string();
        match error {
            ProcessorError::Unavailable(_) => Self::Unavailable(text),
            ProcessorError::Refused { .. } => Self::Hopeless(text),
        }
    }
}

impl Jobs {
    pub fn new(
        store: Store,
        clock: Clock,
        processor: Arc<dyn Processor>,
        files: Files,
        channels: Channels,
    ) -> Self {
        Self {
            store,
            clock,
            processor,
            files,
            channels,
        }
    }

    /// Works until shutdown, then lets the jobs in flight finish; what is left goes to others when
    /// its lease ends.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        let stop = watch::Sender::new(false);
        let [rest, notices] = Lane::ALL.map(|lane| self.run_lane(lane, stop.subscribe()));
        let stopping = async {
            shutdown.await;
            stop.send_replace(true);
        };
        tokio::join!(rest, notices, stopping);
    }

    async fn run_lane(&self, lane: Lane, mut stop: watch::Receiver<bool>) {
        let mut working = JoinSet::new();
        while !*stop.borrow() {
            while working.try_join_next().is_some() {}
            let free = AT_ONCE - working.len();
            let claimed = self.claim_or_say(lane, free).await;
            let full = claimed.len() == free;
            for job in claimed {
                let jobs = self.clone();
                working.spawn(async move { jobs.work(job).await });
            }
            tokio::select! {
                _ = stop.changed() => {}
                Some(_) = working.join_next() => {}
                () = self.store.job_written(lane), if !full => {}
                () = tokio::time::sleep(LOOK_EVERY), if !full => {}
            }
        }
        while working.join_next().await.is_some() {}
    }

    /// Works on everything that is due, and on what becomes due by that; tells how many it was.
    pub async fn drain(&self) -> Result<usize, StoreError> {
        let mut worked = 0;
        loop {
            let mut claimed = Vec::new();
            for lane in Lane::ALL {
                claimed.extend(self.claim(lane, AT_ONCE).await?);
            }
            if claimed.is_empty() {
                return Ok(worked);
            }
            worked += claimed.len();
            join_all(claimed.into_iter().map(|job| self.work(job))).await;
        }
    }

    async fn claim_or_say(&self, lane: Lane, limit: usize) -> Vec<ClaimedJob> {
        self.claim(lane, limit).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot look for jobs");
            Vec::new()
        })
    }

    async fn claim(&self, lane: Lane, limit: usize) -> Result<Vec<ClaimedJob>, StoreError> {
        let now = self.clock.now();
        // Mostly there is nothing to do: a look costs less than a transaction.
        let look = move |tx: &mut Tx<'_>| tx.any_job_due(lane, now);
        if limit == 0 || !self.store.read(look).await? {
            return Ok(Vec::new());
        }
        let claim = hex(&ambient::random::<12>());
        self.store
            .write(move |tx| tx.claim_jobs(lane, &claim, now, now.plus(LEASE), limit as i64))
            .await
    }

    async fn work(&self, job: ClaimedJob) {
        let kind = job.name.kind;
        let outcome = tokio::time::timeout(TIME_LIMIT, self.attempt(&job))
            .await
            .unwrap_or_else(|_| Err(Failure::Unavailable("it took too long".to_owned())));
        let result = match &outcome {
            Ok(Done::Finished) => "done",
            Ok(Done::Waits { .. }) => "waits",
            Err(_) => "failed",
        };
        counter!("legwork_jobs_total", "kind" => kind.as_str(), "result" => result).increment(1);
        let noted = match outcome {
            Ok(Done::Finished) => Ok(()),
            Ok(Done::Waits {
                waits_for,
                look_again,
            }) => {
                let waiting = self.let_wait(job.clone(), waits_for, look_again);
                waiting.await.map_err(Failure::from)
            }
            Err(failure) => self.put_off(job.clone(), failure).await,
        };
        if let Err(error) = noted {
            tracing::warn!(job = %job.name, ?error, "a job waits for the end of its lease");
        }
    }

    async fn attempt(&self, job: &ClaimedJob) -> Result<Done, Failure> {
        match job.name.kind {
            JobKind::Charge => charge::charge(self, job).await,
            JobKind::CancelPayment => charge::cancel(self, job).await,
            JobKind::Refund => outgoing::refund(self, job).await,
            JobKind::Transfer => outgoing::transfer(self, job).await,
            JobKind::Post => post::post(self, job).await,
            JobKind::SandboxEvent => sandbox_event::deliver(self, job).await,
            JobKind::Mail => notification::mail(self, job).await,
            JobKind::Push => notification::push(self, job).await,
            JobKind::AnnounceBounty => announce::bounty(self, job).await,
            JobKind::AnnounceWorker => announce::worker(self, job).await,
            JobKind::ShowTasks => accounts::show_tasks(self, job).await,
            JobKind::EraseAccount => accounts::erase(self, job).await,
            JobKind::GiveUpDeliveries => give_up::deliveries(self, job).await,
        }
    }

    async fn let_wait(
        &self,
        job: ClaimedJob,
        waits_for: Option<String>,
        look_again: Duration,
    ) -> Result<(), StoreError> {
        let until = self.clock.now().plus(look_again);
        self.store
            .write(move |tx| tx.let_job_wait(&job, waits_for.as_deref(), until))
            .await
    }

    async fn put_off(&self, job: ClaimedJob, failure: Failure) -> Result<(), Failure> {
        let now = self.clock.now();
        let again = Some(now.plus(delay(job.attempts, ambient::random())));
        let (run_at, reason) = match failure {
            Failure::LeaseLost => return Ok(()),
            Failure::Unavailable(reason) => (again, reason),
            Failure::Unexpected(reason) if job.attempts < MAX_ATTEMPTS => (again, reason),
            Failure::Unexpected(reason) | Failure::Hopeless(reason) => (None, reason),
        };
        match run_at {
            Some(_) => tracing::warn!(job = %job.name, reason, "a job will be tried again"),
            None => tracing::error!(job = %job.name, reason, "a job is given up"),
        }
        let dead = self
            .store
            .write(move |tx| {
                tx.put_off_job(&job, run_at, &reason)?;
                if run_at.is_some() {
                    return Ok(None);
                }
                if job.name.kind == JobKind::Transfer {
                    usecases::payout_failed(tx, task_id(&job)?, &reason, now)?;
                }
                Ok::<_, Failure>(Some(tx.count_dead_jobs()?))
            })
            .await?;
        if let Some(dead) = dead {
            gauge!("legwork_jobs_dead").set(dead as f64);
        }
        Ok(())
    }

    /// Records what a job did, and its end, in one transaction.
    async fn record<F>(&self, job: &ClaimedJob, mut record: F) -> Result<Done, Failure>
    where
        F: FnMut(&mut Tx<'_>, Timestamp) -> Result<(), UseCaseError> + Send + 'static,
    {
        let (job, clock) = (job.clone(), self.clock.clone());
        self.store
            .write(move |tx| {
                record(tx, clock.now())?;
                if tx.finish_job(&job)? {
                    Ok(Done::Finished)
                } else {
                    Err(Failure::LeaseLost)
                }
            })
            .await
    }

    /// Ends a job that turned out not to be needed.
    async fn finish(&self, job: &ClaimedJob) -> Result<Done, Failure> {
        self.record(job, |_, _| Ok(())).await
    }
}

fn task_id(job: &ClaimedJob) -> Result<TaskId, Failure> {
    TaskId::parse(&job.name.subject)
        .ok_or_else(|| Failure::Hopeless("the subject is no task".to_owned()))
}
