//! The whole life of live tasks, from creation to payout, through the sandbox. Compared with plain
//! creations of live tasks. Both run in this process, each on its own database.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use legwork::files::{Files, FilesLocation};
use legwork::jobs::{Channels, Jobs};
use legwork::outbound::{Outbound, OutboundSettings};
use legwork::push::Vapid;
use legwork::shutdown::Shutdown;
use legwork::usecases;
use legwork::usecases::LedgerReport;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::Result;
use crate::limit::{Limit, in_turns};
use crate::load::{Sample, Window};
use crate::options::{CONNECTIONS, Options};
use crate::progress;
use crate::report::{Figure, Report};
use crate::service::{Scenario, Service, TestDatabase, Users};
use crate::test_bed::TestBed;
use crate::watch::text;
use crate::writes::{Meter, Writes, metric};

/// A life takes 20 to 300 ms, and all start at the same moment. In a short round, before they are
/// out of step, the rate would be random.
const WARM_UP: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_secs(1);
/// The entries of a finished task: payment, settlement, transfer.
const ENTRIES_OF_A_LIFE: u64 = 3;
const NAME: &str = "live task from create to payout, sandbox";
const CREATION: &str = "plain creation of live tasks, in process";

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    bed.stop()?;
    // Before the stores open, because their metrics are read later.
    legwork::telemetry::start_metrics();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let files = empty_storage(bed.folder.path())?;
    let database = TestDatabase::new(bed, "creations")?;
    let creations = Setup::new(&runtime, Scenario::Create, database, files.clone())?;
    let lives = Setup::new(
        &runtime,
        Scenario::Life,
        TestDatabase::new(bed, "lives")?,
        files,
    )?;
    let failed_before = failed_jobs();
    let (sample, plain) = time(options, &lives, &creations)?;
    let failed = failed_jobs() - failed_before;
    progress::say(&format!("{NAME}: counting writes"));
    let lived = lives.count_writes(options.round())?;
    let created = creations.count_writes(options.round())?;
    let figure = Figure::throughput(bed.name(), NAME, &sample);
    report.add(figure.beside(CREATION, &plain));
    report_writes(bed.name(), &lived, &created, report);
    if failed > 0.0 {
        let engine = bed.name();
        report.note(&format!(
            "{engine}: {failed} jobs of live tasks failed and were retried."
        ));
    }
    Ok(())
}

fn time(options: &Options, lives: &Setup<'_>, creations: &Setup<'_>) -> Result<(Sample, Sample)> {
    let (mut living, mut creating) = (lives.begin()?, creations.begin()?);
    let round = |length| living.round(length);
    let samples = in_turns(options, NAME, round, &mut creating)?;
    living.end()?;
    creating.end()?;
    Ok(samples)
}

fn report_writes(engine: &'static str, lived: &Writes, created: &Writes, report: &mut Report) {
    let mut add = |what: &str, of: fn(&Writes) -> Option<f64>| {
        let Some((lived, created)) = of(lived).zip(of(created)) else {
            return;
        };
        let figure = Figure::per_task(engine, &format!("{what} for one such task"), lived);
        report.add(figure.beside_count("for one plain creation", created));
    };
    add("rows written", |writes| Some(writes.rows));
    add("write transactions", |writes| Some(writes.transactions));
    add("commits", |writes| writes.commits);
    add("bytes stored", |writes| Some(writes.stored_bytes));
    add("bytes of write-ahead log", |writes| writes.log_bytes);
    add("microseconds of the database's CPU", |writes| {
        writes.database_micros
    });
}

fn failed_jobs() -> f64 {
    metric("legwork_jobs_total", "result=\"failed\"")
}

/// One activity on its own database, with its own users.
struct Setup<'r> {
    runtime: &'r Runtime,
    scenario: Scenario,
    database: TestDatabase,
    files: Files,
    users: Arc<Users>,
}

/// No files are uploaded here.
fn empty_storage(folder: &Path) -> Result<Files> {
    let location = FilesLocation::Folder(folder.join("files"));
    let incoming = folder.join("incoming");
    Ok(Files::open(
        &location,
        &incoming,
        "http://127.0.0.1",
        [0; 32],
        [],
    )?)
}

impl<'r> Setup<'r> {
    fn new(
        runtime: &'r Runtime,
        scenario: Scenario,
        database: TestDatabase,
        files: Files,
    ) -> Result<Self> {
        let mut service = Service::open(&database)?;
        runtime.block_on(service.populate())?;
        Ok(Self {
            users: service.users.clone(),
            runtime,
            scenario,
            database,
            files,
        })
    }

    fn begin(&self) -> Result<Run<'_>> {
        let mut service = Service::open(&self.database)?;
        service.users = self.users.clone();
        let mut run = Run {
            scene: self,
            service,
            background: JoinSet::new(),
            shutdown: Shutdown::default(),
            channels: silent()?,
            done: 0,
        };
        // If tasks are only created, no job charges them.
        if self.scenario == Scenario::Life {
            run.start_jobs();
        }
        Ok(run)
    }

    /// What one activity writes. Nothing is timed, because counting may be slow.
    fn count_writes(&self, length: Duration) -> Result<Writes> {
        let meter = Meter::start(&self.database)?;
        let mut run = self.begin()?;
        run.round(length)?;
        let done = run.end()?;
        meter.stop(done)
    }
}

struct Run<'s> {
    scene: &'s Setup<'s>,
    service: Service,
    /// The jobs, as the server runs them, and the watch for their completion.
    background: JoinSet<()>,
    shutdown: Shutdown,
    channels: Channels,
    done: u64,
}

/// Notifications are stored but not sent.
fn silent() -> std::result::Result<Channels, String> {
    Ok(Channels {
        mailer: None,
        outbound: Outbound::new(&OutboundSettings::default())?,
        vapid: Arc::new(Vapid::generate()?),
        public_url: String::new(),
        contact: String::new(),
    })
}

impl Run<'_> {
    fn start_jobs(&mut self) {
        let _spawning = self.scene.runtime.enter();
        let processor = Arc::new(self.service.sandbox.clone());
        let (store, clock) = (self.service.store.clone(), self.service.clock.clone());
        let (files, channels) = (self.scene.files.clone(), self.channels.clone());
        let jobs = Jobs::new(store, clock, processor, files, channels);
        let shutdown = self.shutdown.clone();
        self.background
            .spawn(async move { jobs.run(shutdown.started()).await });
        let (watch, shutdown) = (self.service.watch.clone(), self.shutdown.clone());
        self.background.spawn(async move {
            tokio::select! {
                () = watch.look() => {}
                () = shutdown.started() => {}
            }
        });
    }

    /// Finishes everything that was started, so that nothing is left for the next round.
    fn round(&mut self, length: Duration) -> Result<Sample> {
        let window = Window::after(WARM_UP, length.max(SHORTEST));
        let (service, scenario) = (&self.service, self.scene.scenario);
        let (tally, processor) = self.scene.runtime.block_on(async {
            tokio::join!(
                drive(service, scenario, window),
                window.watch(std::process::id())
            )
        });
        let tally = tally?;
        self.done += tally.done;
        Ok(Sample::of_times(tally.micros, processor?, window))
    }

    /// Returns how many were done, if the ledger is correct.
    fn end(mut self) -> Result<u64> {
        self.shutdown.start();
        let (service, scenario) = (&self.service, self.scene.scenario);
        self.scene.runtime.block_on(async {
            while self.background.join_next().await.is_some() {}
            let now = service.clock.now();
            let report = usecases::verify_ledger(&service.store, &service.sandbox, now).await?;
            check(&report, scenario, self.done).map_err(Box::<dyn Error>::from)
        })?;
        Ok(self.done)
    }
}

impl Limit for Run<'_> {
    fn name(&self) -> String {
        CREATION.to_owned()
    }

    fn round(&mut self, length: Duration) -> Result<Sample> {
        Run::round(self, length)
    }
}

/// The work done by one or more concurrent clients.
#[derive(Default)]
struct Tally {
    done: u64,
    /// The duration of each that ended within the window.
    micros: Vec<u32>,
}

async fn drive(
    service: &Service,
    scenario: Scenario,
    window: Window,
) -> std::result::Result<Tally, String> {
    let mut working = JoinSet::new();
    for number in 0..CONNECTIONS {
        working.spawn(work(service.clone(), scenario, number, window));
    }
    let mut all = Tally::default();
    while let Some(finished) = working.join_next().await {
        let one = finished.map_err(text)??;
        all.done += one.done;
        all.micros.extend(one.micros);
    }
    Ok(all)
}

/// One activity after the other until the window closes.
async fn work(
    service: Service,
    scenario: Scenario,
    first: usize,
    window: Window,
) -> std::result::Result<Tally, String> {
    let mut tally = Tally::default();
    let mut number = first;
    loop {
        let begun = Instant::now();
        if begun >= window.until {
            return Ok(tally);
        }
        service.perform(scenario, number).await?;
        tally.done += 1;
        number += CONNECTIONS;
        let ended = Instant::now();
        if ended >= window.from && ended < window.until {
            let took = (ended - begun).as_micros();
            tally.micros.push(u32::try_from(took).unwrap_or(u32::MAX));
        }
    }
}

/// A run with an incorrect or incomplete ledger gives no figures.
fn check(report: &LedgerReport, scenario: Scenario, done: u64) -> std::result::Result<(), String> {
    if let Some(difference) = report.differences.first() {
        return Err(format!("the ledger is wrong: {difference}"));
    }
    let entries = match scenario {
        Scenario::Create => 0,
        Scenario::Life => ENTRIES_OF_A_LIFE * report.tasks,
    };
    let complete = report.entries == entries && report.tasks >= done && done > 0;
    if !complete || report.owed > 0 || report.in_flight > 0 {
        return Err(format!(
            "the ledger is not complete after {done} more tasks: {} tasks, {} entries, {} owed, {} in flight",
            report.tasks, report.entries, report.owed, report.in_flight
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled() -> LedgerReport {
        LedgerReport {
            tasks: 2,
            entries: 6,
            ..LedgerReport::default()
        }
    }

    #[test]
    fn only_a_ledger_that_is_right_and_complete_passes() {
        assert_eq!(check(&settled(), Scenario::Life, 2), Ok(()));
        let broken: [fn(&mut LedgerReport); 5] = [
            |report| report.differences.push("a cent is missing".to_owned()),
            |report| report.owed = 1,
            |report| report.in_flight = 1,
            |report| report.entries = 5,
            |report| report.tasks = 1,
        ];
        for breaks in broken {
            let mut report = settled();
            breaks(&mut report);
            assert!(check(&report, Scenario::Life, 2).is_err(), "{report:?}");
        }
        assert!(check(&settled(), Scenario::Create, 2).is_err());
    }
}
