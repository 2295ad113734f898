//! The whole life of live tasks, from their creation to the payout, through the sandbox. It is held
//! against plain creations of live tasks: both run in this process, each on a database of its own.

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
use crate::bed::Bed;
use crate::limit::{Limit, in_turns};
use crate::load::{Sample, Window};
use crate::options::{CONNECTIONS, Options};
use crate::report::{Figure, Report};
use crate::town::{Deed, Ground, People, Town};
use crate::watch::text;
use crate::writes::{Meter, Writes, metric};

/// A life takes a few hundredths of a second, on a busy machine a few tenths, and all begin at the
/// same moment: until they are out of step, and in too short a round, the rate is left to chance.
const WARM_UP: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_secs(1);
/// The entries of a task that lived to the end: payment, settlement, transfer.
const ENTRIES_OF_A_LIFE: u64 = 3;
const NAME: &str = "live task from create to payout, sandbox";
const CREATION: &str = "plain creation of live tasks, in process";

pub fn measure(options: &Options, bed: &mut Bed, report: &mut Report) -> Result<()> {
    bed.stop()?;
    // Before the stores open: what they count is asked for later.
    legwork::telemetry::start_metrics();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let files = empty_shelves(bed.folder.path())?;
    let ground = Ground::new(bed, "creations")?;
    let creations = Scene::new(&runtime, Deed::Create, ground, files.clone())?;
    let lives = Scene::new(&runtime, Deed::Life, Ground::new(bed, "lives")?, files)?;
    let failed_before = failed_jobs();
    let (sample, plain) = time(options, &lives, &creations)?;
    let failed = failed_jobs() - failed_before;
    eprintln!("bench: {NAME}: counting writes");
    let lived = lives.count_writes(options.round())?;
    let created = creations.count_writes(options.round())?;
    let figure = Figure::throughput(bed.name(), NAME, &sample);
    report.add(figure.beside(CREATION, &plain));
    tell_writes(bed.name(), &lived, &created, report);
    if failed > 0.0 {
        let engine = bed.name();
        report.note(&format!(
            "{engine}: {failed} jobs of live tasks failed and were tried again."
        ));
    }
    Ok(())
}

fn time(options: &Options, lives: &Scene<'_>, creations: &Scene<'_>) -> Result<(Sample, Sample)> {
    let (mut living, mut creating) = (lives.begin()?, creations.begin()?);
    let round = |length| living.round(length);
    let samples = in_turns(options, NAME, round, &mut creating)?;
    living.end()?;
    creating.end()?;
    Ok(samples)
}

fn tell_writes(engine: &'static str, lived: &Writes, created: &Writes, report: &mut Report) {
    let mut tell = |what: &str, lived: f64, created: f64| {
        let figure = Figure::per_task(engine, &format!("{what} for one such task"), lived);
        report.add(figure.beside_count("for one plain creation", created));
    };
    tell("rows written", lived.rows, created.rows);
    tell(
        "write transactions",
        lived.transactions,
        created.transactions,
    );
    if let (Some(lived), Some(created)) = (lived.commits, created.commits) {
        tell("commits", lived, created);
    }
}

fn failed_jobs() -> f64 {
    metric("legwork_jobs_total", "result=\"failed\"")
}

/// One deed on a database of its own, by people who live there.
struct Scene<'r> {
    runtime: &'r Runtime,
    deed: Deed,
    ground: Ground,
    files: Files,
    people: Arc<People>,
}

/// Nobody sends files here.
fn empty_shelves(folder: &Path) -> Result<Files> {
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

impl<'r> Scene<'r> {
    fn new(runtime: &'r Runtime, deed: Deed, ground: Ground, files: Files) -> Result<Self> {
        let mut town = Town::open(&ground)?;
        runtime.block_on(town.populate())?;
        Ok(Self {
            people: town.people.clone(),
            runtime,
            deed,
            ground,
            files,
        })
    }

    fn begin(&self) -> Result<Run<'_>> {
        let mut town = Town::open(&self.ground)?;
        town.people = self.people.clone();
        let mut run = Run {
            scene: self,
            town,
            background: JoinSet::new(),
            shutdown: Shutdown::default(),
            channels: silent()?,
            done: 0,
        };
        // Where tasks are only created, nobody charges them.
        if self.deed == Deed::Life {
            run.start_jobs();
        }
        Ok(run)
    }

    /// What one deed writes. Nothing is timed: counting may cost time.
    fn count_writes(&self, length: Duration) -> Result<Writes> {
        let meter = Meter::start(&self.ground)?;
        let mut run = self.begin()?;
        run.round(length)?;
        let done = run.end()?;
        meter.stop(done)
    }
}

struct Run<'s> {
    scene: &'s Scene<'s>,
    town: Town,
    /// The jobs, as the server runs them, and the watch for their end.
    background: JoinSet<()>,
    shutdown: Shutdown,
    channels: Channels,
    done: u64,
}

/// What people are told is kept, and reaches nobody.
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
        let processor = Arc::new(self.town.sandbox.clone());
        let (store, clock) = (self.town.store.clone(), self.town.clock.clone());
        let (files, channels) = (self.scene.files.clone(), self.channels.clone());
        let jobs = Jobs::new(store, clock, processor, files, channels);
        let shutdown = self.shutdown.clone();
        self.background
            .spawn(async move { jobs.run(shutdown.started()).await });
        let (watch, shutdown) = (self.town.watch.clone(), self.shutdown.clone());
        self.background.spawn(async move {
            tokio::select! {
                () = watch.look() => {}
                () = shutdown.started() => {}
            }
        });
    }

    /// Everything that was begun is brought to its end, so that nothing is left for the next round.
    fn round(&mut self, length: Duration) -> Result<Sample> {
        let window = Window::after(WARM_UP, length.max(SHORTEST));
        let (town, deed) = (&self.town, self.scene.deed);
        let (hands, processor) = self.scene.runtime.block_on(async {
            tokio::join!(drive(town, deed, window), window.watch(std::process::id()))
        });
        let hands = hands?;
        self.done += hands.done;
        Ok(Sample::of_times(hands.micros, processor?, window))
    }

    /// Tells how many were done, if the ledger is right.
    fn end(mut self) -> Result<u64> {
        self.shutdown.start();
        let (town, deed) = (&self.town, self.scene.deed);
        self.scene.runtime.block_on(async {
            while self.background.join_next().await.is_some() {}
            let now = town.clock.now();
            let report = usecases::verify_ledger(&town.store, &town.sandbox, now).await?;
            check(&report, deed, self.done).map_err(Box::<dyn Error>::from)
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

/// What one or several of those who work at the same time have done.
#[derive(Default)]
struct Hands {
    done: u64,
    /// How long each took that ended within the window.
    micros: Vec<u32>,
}

async fn drive(town: &Town, deed: Deed, window: Window) -> std::result::Result<Hands, String> {
    let mut working = JoinSet::new();
    for number in 0..CONNECTIONS {
        working.spawn(work(town.clone(), deed, number, window));
    }
    let mut all = Hands::default();
    while let Some(finished) = working.join_next().await {
        let one = finished.map_err(text)??;
        all.done += one.done;
        all.micros.extend(one.micros);
    }
    Ok(all)
}

/// One deed after the other until the window closes.
async fn work(
    town: Town,
    deed: Deed,
    first: usize,
    window: Window,
) -> std::result::Result<Hands, String> {
    let mut hands = Hands::default();
    let mut number = first;
    loop {
        let begun = Instant::now();
        if begun >= window.until {
            return Ok(hands);
        }
        town.perform(deed, number).await?;
        hands.done += 1;
        number += CONNECTIONS;
        let ended = Instant::now();
        if ended >= window.from && ended < window.until {
            let took = (ended - begun).as_micros();
            hands.micros.push(u32::try_from(took).unwrap_or(u32::MAX));
        }
    }
}

/// A run whose ledger is not right, or not complete, has no figures.
fn check(report: &LedgerReport, deed: Deed, done: u64) -> std::result::Result<(), String> {
    if let Some(difference) = report.differences.first() {
        return Err(format!("the ledger is wrong: {difference}"));
    }
    let entries = match deed {
        Deed::Create => 0,
        Deed::Life => ENTRIES_OF_A_LIFE * report.tasks,
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
        assert_eq!(check(&settled(), Deed::Life, 2), Ok(()));
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
            assert!(check(&report, Deed::Life, 2).is_err(), "{report:?}");
        }
        assert!(check(&settled(), Deed::Create, 2).is_err());
    }
}
