//! Background jobs. A job is claimed with a lease, run and recorded, then retried or declared dead if it
//! failed.
//!
//! Any number of processes share the jobs. When a process dies, its leases expire and other
//! processes take over. Each kind of job is one file. It calls the outside world first, then
//! records the result and deletes the job in one transaction.

mod accounts;
mod announce;
mod charge;
mod deliveries;
mod exports;
mod mandates;
mod notification;
mod outgoing;
mod post;
mod pushes;
mod sandbox_event;
mod workers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use metrics::counter;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::ambient::{self, Clock};
use crate::domain::accounts::api_key::hex;
use crate::domain::job::{MAX_ATTEMPTS, delay, storable};
use crate::domain::{AccountId, CheckedSkills, JobKind, Lane, OutgoingKind, TaskId, Timestamp};
use crate::exports::PartLimits;
use crate::files::Files;
use crate::jobs::exports::Exporting;
use crate::jobs::pushes::Pushes;
use crate::mail::Mailer;
use crate::outbound::{Outbound, Resting};
use crate::payments::{Processor, ProcessorError, RequestError};
use crate::push::Vapid;
use crate::store::{ClaimedJob, Store, StoreError, Tx};
use crate::usecases::{self, UseCaseError};

/// How long a claimed job belongs to its process.
const LEASE: Duration = Duration::from_secs(120);
/// A job that takes longer is aborted before its lease ends.
const TIME_LIMIT: Duration = Duration::from_secs(90);
/// A processor that failed while it moved money out may complete that when it recovers, as Stripe says of
/// itself. So it is given time before it is asked what it did, and then asked under another key.
const SETTLING: Duration = Duration::from_secs(10 * 60);
/// Whoever takes so long to fail does not answer. While that goes on, jobs that ask nobody must have their turn.
const SILENT: Duration = Duration::from_secs(5);
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// How many notifications a process sends at once.
const NOTIFICATIONS_AT_ONCE: usize = 16;
/// Under load every commit sends a wake-up, and every job that ends makes room. A pause combines several
/// of them into one claim.
const PAUSE: Duration = Duration::from_millis(2);
/// How often a process polls for jobs without a wake-up: jobs of other processes, retries, expired
/// leases.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What jobs need.
#[derive(Clone)]
pub struct Jobs {
    store: Store,
    clock: Clock,
    processor: Arc<dyn Processor>,
    files: Files,
    channels: Channels,
    pushes: Pushes,
    /// There is one processor, and one file store.
    silent_processor: Resting<()>,
    silent_after: Duration,
    hanging_files: Resting<()>,
    /// How long a payout is held after it was earned.
    payout_hold: Duration,
    export_limits: PartLimits,
    exporting: Exporting,
    /// Which skills of workers have to be confirmed.
    checked_skills: CheckedSkills,
}

/// How notifications are sent.
#[derive(Clone)]
pub struct Channels {
    /// Without a mailer, notifications are only stored.
    pub mailer: Option<Mailer>,
    pub outbound: Outbound,
    pub vapid: Arc<Vapid>,
    /// The public URL of the service.
    pub public_url: String,
    /// How push services can contact the operator: a `mailto:` or `https:` URL.
    pub contact: String,
}

/// How a job ended without a failure.
enum Done {
    /// The job was deleted.
    Finished,
    /// The job waits for something to happen.
    Waits {
        waits_for: Option<String>,
        recheck_after: Duration,
    },
}

/// Why a job failed.
#[derive(Clone, Debug)]
enum Failure {
    /// A peer or the database is unavailable. The job is retried until it succeeds.
    Unavailable(String),
    /// The same of the processor.
    NoProcessor(String),
    /// An unexpected error. The job is retried a limited number of times.
    Unexpected(String),
    /// A permanent error. The job is dead at once.
    Permanent(String),
    /// The processor says that it failed, and would repeat that: the job is retried with another idempotency
    /// key.
    Broken(String),
    /// The processor refuses, and would repeat that: the job is dead, and has another idempotency key when
    /// it is retried by hand.
    Refused(String),
    /// Another process has the job now. The result of this one was not recorded.
    LeaseLost,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::Unavailable(_) | StoreError::Overloaded | StoreError::Collision(_) => {
                Self::Unavailable(text)
            }
            StoreError::Failed(_) | StoreError::Incompatible(_) => Self::Unexpected(text),
        }
    }
}

impl From<UseCaseError> for Failure {
    fn from(error: UseCaseError) -> Self {
        match error {
            UseCaseError::Store(error) => error.into(),
            error => Self::Unexpected(error.to_string()),
        }
    }
}

impl From<ProcessorError> for Failure {
    fn from(error: ProcessorError) -> Self {
        let text = error.to_string();
        match error {
            ProcessorError::Unavailable(_) => Self::NoProcessor(text),
            ProcessorError::Refused { .. } => Self::Permanent(text),
        }
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let text = error.to_string();
        match error.error {
            ProcessorError::Unavailable(_) if error.key_spent => Self::Broken(text),
            ProcessorError::Refused { .. } if error.key_spent => Self::Refused(text),
            error => error.into(),
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
            pushes: Pushes::default(),
            silent_processor: Resting::default(),
            silent_after: SILENT,
            hanging_files: Resting::default(),
            payout_hold: Duration::ZERO,
            export_limits: PartLimits::default(),
            exporting: Exporting::default(),
            checked_skills: CheckedSkills::default(),
        }
    }

    pub fn with_checked_skills(mut self, checked: CheckedSkills) -> Self {
        self.checked_skills = checked;
        self
    }

    pub fn with_payout_hold(mut self, hold: Duration) -> Self {
        self.payout_hold = hold;
        self
    }

    /// After what time a processor that fails counts as silent.
    pub fn with_silence(mut self, after: Duration) -> Self {
        self.silent_after = after;
        self
    }

    pub fn with_export_limits(mut self, limits: PartLimits) -> Self {
        self.export_limits = limits;
        self
    }

    /// Runs until shutdown, then lets the running jobs finish. Other processes take the rest when
    /// the leases end.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) {
        let stop = watch::Sender::new(false);
        let [rest, notifications] = Lane::ALL.map(|lane| self.run_lane(lane, stop.subscribe()));
        let stopping = async {
            shutdown.await;
            stop.send_replace(true);
        };
        tokio::join!(rest, notifications, stopping);
    }

    /// How many jobs of a lane a process runs at once.
    fn at_once(&self, lane: Lane) -> usize {
        match lane {
            Lane::Notifications => NOTIFICATIONS_AT_ONCE,
            Lane::Rest => self.processor.jobs_at_once(),
        }
    }

    async fn run_lane(&self, lane: Lane, mut stop: watch::Receiver<bool>) {
        let mut working = JoinSet::new();
        while !*stop.borrow() {
            while working.try_join_next().is_some() {}
            let free = self.at_once(lane) - working.len();
            let claimed = self.claim_or_log(lane, free).await;
            let full = claimed.len() == free;
            for job in claimed {
                let jobs = self.clone();
                working.spawn(async move { jobs.work(job).await });
            }
            tokio::select! {
                _ = stop.changed() => {}
                Some(_) = working.join_next() => {}
                () = self.store.job_written(lane), if !full => {}
                () = tokio::time::sleep(POLL_INTERVAL), if !full => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
        while working.join_next().await.is_some() {}
    }

    /// Runs everything that is due, and what becomes due as a result. Returns how many jobs ran.
    pub async fn drain(&self) -> Result<usize, StoreError> {
        let mut worked = 0;
        loop {
            let mut claimed = Vec::new();
            for lane in Lane::ALL {
                claimed.extend(self.claim(lane, self.at_once(lane)).await?);
            }
            if claimed.is_empty() {
                return Ok(worked);
            }
            worked += claimed.len();
            join_all(claimed.into_iter().map(|job| self.work(job))).await;
        }
    }

    async fn claim_or_log(&self, lane: Lane, limit: usize) -> Vec<ClaimedJob> {
        self.claim(lane, limit).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot poll for jobs");
            Vec::new()
        })
    }

    async fn claim(&self, lane: Lane, limit: usize) -> Result<Vec<ClaimedJob>, StoreError> {
        let now = self.clock.now();
        // Usually nothing is due, and a read is cheaper than a transaction.
        let due = move |tx: &mut Tx<'_>| tx.any_job_due(lane, now);
        if limit == 0 || !self.store.read(due).await? {
            return Ok(Vec::new());
        }
        let claim = hex(&ambient::random::<12>());
        self.store
            .write(move |tx| tx.claim_jobs(lane, &claim, now, now.plus(LEASE), limit as i64))
            .await
    }

    async fn work(&self, job: ClaimedJob) {
        let kind = job.name.kind;
        let outcome = self.attempt_in_time(&job).await;
        let result = match &outcome {
            Ok(Done::Finished) => "done",
            Ok(Done::Waits { .. }) => "waits",
            Err(_) => "failed",
        };
        counter!("legwork_jobs_total", "kind" => kind.as_str(), "result" => result).increment(1);
        let recorded = match outcome {
            Ok(Done::Finished) => Ok(()),
            Ok(Done::Waits {
                waits_for,
                recheck_after,
            }) => {
                let waiting = self.wait_for(job.clone(), waits_for, recheck_after);
                waiting.await.map_err(Failure::from)
            }
            Err(failure) => self.retry_or_give_up(job.clone(), failure).await,
        };
        if let Err(error) = recorded {
            tracing::warn!(job = %job.name, ?error, "job kept until its lease ends");
        }
    }

    async fn attempt_in_time(&self, job: &ClaimedJob) -> Result<Done, Failure> {
        let (begun, asks) = (Instant::now(), asks_the_processor(job.name.kind));
        if asks && self.silent_processor.has(&(), begun) {
            return Ok(Done::Waits {
                waits_for: job.waited_for.clone(),
                recheck_after: ASK_AGAIN_AFTER,
            });
        }
        let late = || "the job timed out".to_owned();
        let outcome = match tokio::time::timeout(TIME_LIMIT, self.attempt(job)).await {
            Ok(outcome) => outcome,
            Err(_) if asks => Err(Failure::NoProcessor(late())),
            Err(_) => Err(Failure::Unavailable(late())),
        };
        if matches!(outcome, Err(Failure::NoProcessor(_))) && begun.elapsed() >= self.silent_after {
            self.silent_processor.add((), Instant::now());
        }
        outcome
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
            JobKind::SendLink => accounts::send_link(self, job).await,
            JobKind::AnnounceBounty => announce::bounty(self, job).await,
            JobKind::AnnounceWorker => announce::worker(self, job).await,
            JobKind::WarnOfLimits => mandates::warn(self, job).await,
            JobKind::ShowTasks => accounts::show_tasks(self, job).await,
            JobKind::EraseAccount => accounts::erase(self, job).await,
            JobKind::GiveUpDeliveries => deliveries::give_up(self, job).await,
            JobKind::RecoverDeliveries => deliveries::recover(self, job).await,
            JobKind::EraseWorker => workers::erase(self, job).await,
            JobKind::Export => exports::make_part(self, job).await,
            JobKind::DeleteFile => workers::delete_file(self, job).await,
        }
    }

    async fn wait_for(
        &self,
        job: ClaimedJob,
        waits_for: Option<String>,
        recheck_after: Duration,
    ) -> Result<(), StoreError> {
        let until = self.clock.now().plus(recheck_after);
        self.store
            .write(move |tx| tx.let_job_wait(&job, waits_for.as_deref(), until))
            .await
    }

    async fn retry_or_give_up(&self, job: ClaimedJob, failure: Failure) -> Result<(), Failure> {
        let now = self.clock.now();
        let moves = outgoing_kind(job.name.kind);
        let delay = delay(job.attempts, ambient::random());
        let retry_at = Some(now.plus(delay));
        let settled_at = match moves {
            Some(_) => Some(now.plus(delay.max(SETTLING))),
            None => retry_at,
        };
        let (run_at, reason, key_spent) = match failure {
            Failure::LeaseLost => return Ok(()),
            Failure::Unavailable(reason) | Failure::NoProcessor(reason) => {
                (retry_at, reason, false)
            }
            Failure::Unexpected(reason) if job.attempts < MAX_ATTEMPTS => (retry_at, reason, false),
            Failure::Unexpected(reason) | Failure::Permanent(reason) => (None, reason, false),
            Failure::Broken(reason) => (settled_at, reason, true),
            Failure::Refused(reason) => (None, reason, true),
        };
        let reason = storable(&reason);
        match run_at {
            Some(_) => tracing::warn!(job = %job.name, reason, "job failed; it will be retried"),
            None => tracing::error!(job = %job.name, reason, "job failed; giving up"),
        }
        self.store
            .write(move |tx| {
                let kept = tx.put_off_job(&job, run_at, (&reason, key_spent))?;
                // When the lease was lost, the process that has the job now says what became of it.
                if !kept || run_at.is_some() {
                    return Ok(());
                }
                if job.name.kind == JobKind::Export {
                    usecases::export_gave_up(tx, &job.name.subject)?;
                }
                if let (Some(kind), Ok(task)) = (moves, task_id(&job)) {
                    usecases::money_not_sent(tx, task, kind, &reason, now)?;
                }
                Ok::<_, Failure>(())
            })
            .await
    }

    /// Records the result of a job and deletes it, in one transaction.
    async fn record<F>(&self, job: &ClaimedJob, mut record: F) -> Result<Done, Failure>
    where
        F: FnMut(&mut Tx<'_>, Timestamp) -> Result<(), UseCaseError> + Send + 'static,
    {
        let work = recorded(self, job, move |tx, now| record(tx, now).map(|()| None));
        self.store.write(work).await
    }

    /// The same for a result that belongs to an account, above all to its totals: see
    /// `Store::write_for`.
    async fn record_for<F>(
        &self,
        account: AccountId,
        job: &ClaimedJob,
        mut record: F,
    ) -> Result<Done, Failure>
    where
        F: FnMut(&mut Tx<'_>, Timestamp) -> Result<(), UseCaseError> + Send + 'static,
    {
        self.record_or_give_up(account, job, move |tx, now| record(tx, now).map(|()| None))
            .await
    }

    /// Records the result of a job of an account, and deletes it or declares it dead for the reason
    /// returned, in one transaction.
    async fn record_or_give_up<F>(
        &self,
        account: AccountId,
        job: &ClaimedJob,
        record: F,
    ) -> Result<Done, Failure>
    where
        F: FnMut(&mut Tx<'_>, Timestamp) -> Result<Option<String>, UseCaseError> + Send + 'static,
    {
        let work = recorded(self, job, record);
        self.store.write_for(account, work).await
    }

    /// Deletes a job that is not needed.
    async fn finish(&self, job: &ClaimedJob) -> Result<Done, Failure> {
        self.record(job, |_, _| Ok(())).await
    }
}

fn asks_the_processor(kind: JobKind) -> bool {
    let asks = matches!(kind, JobKind::Charge | JobKind::CancelPayment);
    asks || outgoing_kind(kind).is_some()
}

/// The money that a job moves out, if it does.
fn outgoing_kind(kind: JobKind) -> Option<OutgoingKind> {
    match kind {
        JobKind::Transfer => Some(OutgoingKind::Transfer),
        JobKind::Refund => Some(OutgoingKind::Refund),
        _ => None,
    }
}

fn task_id(job: &ClaimedJob) -> Result<TaskId, Failure> {
    TaskId::parse(&job.name.subject)
        .ok_or_else(|| Failure::Permanent("malformed job subject".to_owned()))
}

/// The transaction that records the result of a job.
fn recorded<F>(
    jobs: &Jobs,
    job: &ClaimedJob,
    mut record: F,
) -> impl FnMut(&mut Tx<'_>) -> Result<Done, Failure> + Send + 'static + use<F>
where
    F: FnMut(&mut Tx<'_>, Timestamp) -> Result<Option<String>, UseCaseError> + Send + 'static,
{
    let (job, clock) = (job.clone(), jobs.clock.clone());
    move |tx: &mut Tx<'_>| {
        let kept = match record(tx, clock.now())? {
            None => tx.finish_job(&job)?,
            Some(reason) => tx.put_off_job(&job, None, (&reason, false))?,
        };
        kept.then_some(Done::Finished).ok_or(Failure::LeaseLost)
    }
}
