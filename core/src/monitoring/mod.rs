//! What operators see: the table of metrics, what is read for a scrape, and whether the server is
//! ready.
//!
//! Everything here may be asked while a database or a disk hangs. So it asks each of them once at a
//! time and does not wait long.

mod process;
mod question;
mod table;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use question::Question;

use crate::ambient::Clock;
use crate::domain::{Lane, Timestamp};
use crate::files::Files;
use crate::store::{Backlog, Store, StoreError};

pub use table::{Kind, METRICS, Metric, markdown_table};

/// How long a scrape or a readiness check waits for a database or a disk.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// How old the figures of a scrape may be. Several Prometheus servers may scrape at once.
const FIGURES_LAST: Duration = Duration::from_secs(1);
/// How old the last check of file storage may be. Each check of S3 is a request.
const FILES_CHECK_LASTS: Duration = Duration::from_secs(5);

/// Cheap to clone.
#[derive(Clone)]
pub struct Monitoring(Arc<Inner>);

struct Inner {
    recorder: PrometheusHandle,
    store: Store,
    files: Files,
    clock: Clock,
    /// The data folder, whose disk is measured.
    data: PathBuf,
    backlog: Question<Result<(Backlog, Timestamp), StoreError>>,
    disk: Question<Option<process::Disk>>,
    database_check: Question<Result<(), String>>,
    files_check: Question<Result<(), String>>,
    last_troubles: Mutex<Vec<&'static str>>,
}

impl Monitoring {
    pub fn new(
        recorder: PrometheusHandle,
        store: Store,
        files: Files,
        clock: Clock,
        data: PathBuf,
    ) -> Self {
        Self(Arc::new(Inner {
            recorder,
            store,
            files,
            clock,
            data,
            backlog: Question::new(FIGURES_LAST, PATIENCE),
            disk: Question::new(FIGURES_LAST, PATIENCE),
            database_check: Question::new(Duration::ZERO, PATIENCE),
            files_check: Question::new(FILES_CHECK_LASTS, PATIENCE),
            last_troubles: Mutex::default(),
        }))
    }

    /// All metrics as Prometheus reads them: those that were recorded, and those read now. What
    /// cannot be read in time is left out.
    pub async fn scrape(&self, scheduler_lag: Duration) -> String {
        let (backlog, disk, process) =
            tokio::join!(self.backlog(), self.disk(), process::Process::read());
        let mut samples = Samples::default();
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        samples.add("legwork_build_info", &version, 1.0);
        let lag = scheduler_lag.as_secs_f64();
        samples.add("legwork_scheduler_lag_seconds", &[], lag);
        let up = f64::from(u8::from(backlog.is_some()));
        samples.add("legwork_database_up", &[], up);
        if let Some((backlog, now)) = backlog {
            samples.add_backlog(&backlog, now);
        }
        if let Some(disk) = disk {
            samples.add("legwork_disk_free_bytes", &[], disk.free_bytes);
            samples.add("legwork_disk_size_bytes", &[], disk.size_bytes);
        }
        for (name, value) in process.into_iter().flat_map(|process| process.figures()) {
            samples.add(name, &[], value);
        }
        let mut text = self.0.recorder.render();
        samples.write(&mut text);
        text
    }

    /// How it stands, for people.
    pub async fn health(&self) -> Health {
        let (troubles, backlog) = tokio::join!(self.troubles(), self.backlog());
        Health {
            troubles,
            backlog: backlog.map(|(backlog, now)| Waiting::of(&backlog, now)),
        }
    }

    async fn backlog(&self) -> Option<(Backlog, Timestamp)> {
        let (store, now) = (self.0.store.clone(), self.0.clock.now());
        let read = || async move {
            let backlog = store.snapshot(move |tx| tx.backlog(now)).await?;
            Ok((backlog, now))
        };
        match self.0.backlog.ask(read).await {
            Some(Ok(read)) => Some(read),
            Some(Err(error)) => {
                tracing::warn!(%error, "metrics without the figures of the database");
                None
            }
            None => {
                tracing::warn!("metrics without the figures of the database: it does not answer");
                None
            }
        }
    }

    async fn disk(&self) -> Option<process::Disk> {
        let data = self.0.data.clone();
        let measure = || async move {
            let measured = tokio::task::spawn_blocking(move || process::Disk::of(&data));
            measured.await.ok().flatten()
        };
        self.0.disk.ask(measure).await.flatten()
    }

    /// What keeps this server from serving requests: the database, file storage, or both.
    pub async fn troubles(&self) -> Vec<&'static str> {
        let (store, files) = (self.0.store.clone(), self.0.files.clone());
        let database = || async move { store.ping().await.map_err(|error| error.to_string()) };
        let files = || async move { files.check_place().await.map_err(|error| error.to_string()) };
        let (database, files) = tokio::join!(
            self.0.database_check.ask(database),
            self.0.files_check.ask(files)
        );
        let mut troubles = Vec::new();
        for (what, answer) in [
            ("the database does not answer", database),
            ("file storage does not answer", files),
        ] {
            let why = match answer {
                Some(Ok(())) => continue,
                Some(Err(error)) => error,
                None => "no answer in time".to_owned(),
            };
            troubles.push((what, why));
        }
        let found: Vec<_> = troubles.iter().map(|(what, _)| *what).collect();
        if self.is_news(&found) {
            for (what, error) in troubles {
                tracing::warn!(error, "not ready: {what}");
            }
        }
        found
    }

    /// Whether this is not what was found the last time. Load balancers ask all the time, and the log
    /// has a line only when something changes.
    fn is_news(&self, found: &[&'static str]) -> bool {
        let last = self.0.last_troubles.lock();
        let mut last = last.unwrap_or_else(PoisonError::into_inner);
        let news = *last != found;
        *last = found.to_vec();
        news
    }
}

/// How this server stands.
#[derive(Clone, Debug)]
pub struct Health {
    /// As `troubles` tells them.
    pub troubles: Vec<&'static str>,
    /// None if the database does not tell.
    pub backlog: Option<Waiting>,
}

/// What waits, and for how long the oldest of it.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub jobs_due: i64,
    pub oldest_job_seconds: u64,
    pub dead_jobs: i64,
    pub waiting_mails: i64,
    pub pending_deliveries: i64,
    pub webhook_lag_seconds: u64,
}

impl Waiting {
    fn of(backlog: &Backlog, now: Timestamp) -> Self {
        let age = |since: Option<Timestamp>| since.map_or(0, |at| now.since(at).as_secs());
        let due = &backlog.due_jobs;
        Self {
            jobs_due: due.iter().map(|due| due.count).sum(),
            oldest_job_seconds: age(due.iter().map(|due| due.oldest).min()),
            dead_jobs: backlog.dead_jobs,
            waiting_mails: backlog.waiting_mails,
            pending_deliveries: backlog.pending_deliveries,
            webhook_lag_seconds: age(backlog.oldest_due_endpoint),
        }
    }
}

/// Samples in the text format of Prometheus, with the description of each metric.
#[derive(Default)]
struct Samples {
    text: String,
    described: Option<&'static str>,
}

impl Samples {
    fn add_backlog(&mut self, backlog: &Backlog, now: Timestamp) {
        let age = |since: Option<Timestamp>| since.map_or(0.0, |at| now.since(at).as_secs_f64());
        let due = |lane: Lane| backlog.due_jobs.iter().find(|due| due.lane == lane);
        let lanes = Lane::ALL.map(|lane| (lane, due(lane)));
        for (lane, due) in lanes {
            let count = due.map_or(0, |due| due.count);
            let label = [("lane", lane.as_str())];
            self.add("legwork_jobs_due", &label, count as f64);
        }
        for (lane, due) in lanes {
            let label = [("lane", lane.as_str())];
            let oldest = age(due.map(|due| due.oldest));
            self.add("legwork_jobs_oldest_due_seconds", &label, oldest);
        }
        let pending = backlog.pending_deliveries as f64;
        let oldest = age(backlog.oldest_delivery);
        let lag = age(backlog.oldest_due_endpoint);
        self.add("legwork_jobs_dead", &[], backlog.dead_jobs as f64);
        self.add("legwork_mails_waiting", &[], backlog.waiting_mails as f64);
        self.add("legwork_deliveries_pending", &[], pending);
        self.add("legwork_deliveries_oldest_seconds", &[], oldest);
        self.add("legwork_delivery_lag_seconds", &[], lag);
    }

    /// The samples of one metric come one after the other. No label needs escaping.
    fn add(&mut self, name: &'static str, labels: &[(&str, &str)], value: f64) {
        use std::fmt::Write;
        if self.described != Some(name) {
            self.described = Some(name);
            let metric = METRICS.iter().find(|metric| metric.name == name);
            if let Some(metric) = metric {
                let (help, kind) = (metric.help(), metric.kind.as_str());
                let _ = write!(self.text, "\n# HELP {name} {help}\n# TYPE {name} {kind}\n");
            }
        }
        let labels: Vec<_> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\""))
            .collect();
        let labels = match labels.as_slice() {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    fn write(self, to: &mut String) {
        to.push_str(&self.text);
    }
}
