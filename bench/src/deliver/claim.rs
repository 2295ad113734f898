//! The cost of finding the one endpoint that has something due, claiming it and reading what is
//! due, with many deliveries waiting for a retry. Compared with the same with few. The commit of
//! the claim is not timed: it takes longer than all of this and is constant.

use std::time::{Duration, Instant};

use legwork::domain::EventType;
use legwork::store::{Heartbeat, StoreError};
use tokio::runtime::Runtime;

use super::developers::Developers;
use super::waiting::Waiting;
use crate::Result;
use crate::load::{Sample, Window};
use crate::options::{FEW_TASKS, Options, ROUNDS};
use crate::report::count;
use crate::report::{Figure, Report};
use crate::service::TestDatabase;
use crate::test_bed::TestBed;

const ACCOUNTS: i64 = 1_000;
/// As the service asks (core/src/webhooks/).
const ENDPOINTS_AT_ONCE: i64 = 4_096;
const READ_AT_ONCE: i64 = 64;
const PROCESS: &str = "bench";
const MOST_TIMES: f64 = 2.0;

pub fn measure(options: &Options, bed: &TestBed, report: &mut Report) -> Result<()> {
    let runtime = Runtime::new()?;
    let (many, few) = (options.tasks.max(ACCOUNTS), FEW_TASKS.max(ACCOUNTS));
    let large = Setup::open(&runtime, bed, "claim_many", many)?;
    let small = Setup::open(&runtime, bed, "claim_few", few)?;
    let length = Duration::from_millis(300).max(options.round() / 3);
    let (mut measured, mut less) = (Sample::default(), Sample::default());
    for _ in 0..ROUNDS {
        less.add(small.round(length)?);
        measured.add(large.round(length)?);
    }
    let name = format!("claim an endpoint, {} deliveries wait", count(many));
    let other = format!("the same with {}", count(few));
    let figure = Figure::latency(bed.name(), &name, &measured);
    report.add(figure.at_most_times(MOST_TIMES, &other, &less));
    Ok(())
}

struct Setup<'r> {
    runtime: &'r Runtime,
    /// First, so that it closes before its database is dropped.
    developers: Developers,
    _ground: TestDatabase,
}

impl<'r> Setup<'r> {
    fn open(runtime: &'r Runtime, bed: &TestBed, purpose: &str, deliveries: i64) -> Result<Self> {
        eprintln!("bench: {}: filling in {deliveries} deliveries", bed.name());
        let database = TestDatabase::new(bed, purpose)?;
        // They are never called.
        let url = |number| format!("https://developer-{number}.hooks.example/");
        let urls: Vec<_> = (0..ACCOUNTS).map(url).collect();
        let wanted = &[EventType::TaskCreated];
        let developers = Developers::create(runtime, &database, &urls, wanted)?;
        // The one that is due.
        runtime.block_on(developers.create_task(0))?;
        let waiting = Waiting {
            pattern: developers.keys[0].owner.account,
            each: deliveries / ACCOUNTS,
            data: "'{}'",
            due_at: "created_at + 86400000 + number",
        };
        let developers = developers.away(&database, || waiting.fill(&database))?;
        Ok(Self {
            runtime,
            developers,
            _ground: database,
        })
    }

    fn round(&self, length: Duration) -> Result<Sample> {
        let window = Window::after(Duration::ZERO, length);
        let mut micros = Vec::new();
        while Instant::now() < window.until {
            let took = self.runtime.block_on(self.claim())?;
            micros.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        }
        Ok(Sample::of_micros(micros, window))
    }

    /// Claims the endpoint, reads what is due, and releases it as it was.
    async fn claim(&self) -> Result<Duration> {
        let (store, now) = (&self.developers.store, self.developers.clock.now());
        let account = self.developers.keys[0].owner.account;
        let began = Instant::now();
        store.read(move |tx| tx.any_endpoint_due(now)).await?;
        let looked = began.elapsed();
        let claimer = Heartbeat {
            process: PROCESS.to_owned(),
            alive_until: now.plus(Duration::from_secs(10)),
        };
        let claim = store.write(move |tx| {
            let began = Instant::now();
            let claimed = tx.claim_endpoints(&claimer, now, ENDPOINTS_AT_ONCE)?;
            Ok::<_, StoreError>((claimed, began.elapsed()))
        });
        let (claimed, claiming) = claim.await?;
        let began = Instant::now();
        let read = store.snapshot(move |tx| tx.due_deliveries(account, now, READ_AT_ONCE));
        let due = read.await?;
        let reading = began.elapsed();
        if claimed != [account] || due.len() != 1 {
            let (endpoints, due) = (claimed.len(), due.len());
            return Err(
                format!("{endpoints} endpoints and {due} deliveries instead of one").into(),
            );
        }
        let give_back = store.write(move |tx| tx.abandon_endpoint(account, PROCESS, Some(now)));
        give_back.await?;
        Ok(looked + claiming + reading)
    }
}
