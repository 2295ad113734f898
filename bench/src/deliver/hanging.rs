//! How long an event takes from its commit to its endpoint while other endpoints hang: they accept
//! the connection and never respond. Compared, in turns, with the same while they respond.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use legwork::domain::EventType;
use legwork::shutdown::Shutdown;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::developers::Developers;
use super::receiver::{Arrival, Receiver};
use crate::Result;
use crate::load::{Sample, Window};
use crate::options::{Options, ROUNDS};
use crate::report::count;
use crate::report::{Figure, Report};
use crate::service::TestDatabase;
use crate::test_bed::TestBed;
use crate::watch::text;

const ACCOUNTS: usize = 1_000;
const FEW_ACCOUNTS: usize = 200;
/// One endpoint in this many hangs.
const ONE_HANGS_IN: usize = 10;
/// Events per second of all accounts together, round-robin, whether earlier ones have arrived or
/// not. This is far below the possible rate.
const EVENTS_A_SECOND: usize = 300;
/// How long a delivery to a responsive endpoint may take.
const PATIENCE: Duration = Duration::from_secs(30);
const MOST_TIMES: f64 = 2.0;

pub fn measure(options: &Options, bed: &TestBed, report: &mut Report) -> Result<()> {
    let accounts = if options.quick {
        FEW_ACCOUNTS
    } else {
        ACCOUNTS
    };
    let runtime = Runtime::new()?;
    let database = TestDatabase::new(bed, "hanging")?;
    let mut scene = Setup::open(&runtime, &database, accounts)?;
    let (mut prompt, mut hanging) = (Sample::default(), Sample::default());
    for round in 1..=ROUNDS {
        prompt.add(scene.turn(false, options.round())?);
        hanging.add(scene.turn(true, options.round())?);
        let late = |sample: &Sample| sample.percentile(99).unwrap_or(f64::NAN) / 1e3;
        eprintln!(
            "bench: events to endpoints, round {round}: p99 so far {:.1} ms, and {:.1} ms while others hang",
            late(&prompt),
            late(&hanging)
        );
    }
    scene.close()?;
    let silent = accounts / ONE_HANGS_IN;
    let name = format!(
        "event to endpoint, {} accounts, {silent} others hang",
        count((accounts - silent) as i64)
    );
    let figure = Figure::late_latency(bed.name(), &name, &hanging);
    report.add(figure.at_most_times(MOST_TIMES, "while those respond", &prompt));
    Ok(())
}

struct Setup<'r> {
    runtime: &'r Runtime,
    receiver: Receiver,
    developers: Developers,
    delivering: JoinSet<()>,
    shutdown: Shutdown,
}

/// A committed task, whose event has to arrive.
struct Committed {
    developer: usize,
    task: String,
    at: Instant,
}

fn hangs(developer: usize) -> bool {
    developer.is_multiple_of(ONE_HANGS_IN)
}

impl<'r> Setup<'r> {
    fn open(runtime: &'r Runtime, database: &TestDatabase, accounts: usize) -> Result<Self> {
        let receiver = Receiver::start()?;
        let url = |developer| match hangs(developer) {
            true => receiver.hanging_url(developer),
            false => receiver.url(developer),
        };
        let urls: Vec<_> = (0..accounts).map(url).collect();
        // One event for each task.
        let wanted = &[EventType::TaskCreated];
        let developers = Developers::create(runtime, database, &urls, wanted)?;
        let webhooks = developers.webhooks(receiver.outbound()?);
        let shutdown = Shutdown::default();
        let mut delivering = JoinSet::new();
        let stopping = shutdown.clone();
        let run = async move { webhooks.run(stopping.started()).await };
        delivering.spawn_on(run, runtime.handle());
        Ok(Self {
            runtime,
            receiver,
            developers,
            delivering,
            shutdown,
        })
    }

    /// Waits until every endpoint has had an event: the hanging ones must hang before the
    /// measurement.
    fn turn(&mut self, hang: bool, length: Duration) -> Result<Sample> {
        self.receiver.hang(hang);
        self.receiver.note_arrivals();
        let accounts = self.developers.keys.len();
        let settled = Duration::from_secs_f64(1.0 + accounts as f64 / EVENTS_A_SECOND as f64);
        let window = Window::after(settled, length);
        let (committed, processor) = self.runtime.block_on(async {
            tokio::join!(
                create_tasks(&self.developers, window.until),
                window.watch(std::process::id())
            )
        });
        let mut measured = committed?;
        measured.retain(|one| one.at >= window.from && !hangs(one.developer));
        let arrived = self.wait_for(&measured)?;
        let micros = measured.iter().map(|one| {
            // It may arrive before the commit returns to its caller.
            let took = arrived[&one.task].saturating_duration_since(one.at);
            u32::try_from(took.as_micros()).unwrap_or(u32::MAX)
        });
        Ok(Sample::of_times(micros.collect(), processor?, window))
    }

    /// When each task arrived, after all have.
    fn wait_for(&self, measured: &[Committed]) -> Result<HashMap<String, Instant>> {
        let asked = Instant::now();
        let mut arrived = HashMap::new();
        loop {
            for arrival in self.receiver.arrivals() {
                arrived.entry(task_of(&arrival)?).or_insert(arrival.at);
            }
            let missing = measured
                .iter()
                .filter(|one| !arrived.contains_key(&one.task));
            let missing = missing.count();
            if missing == 0 {
                return Ok(arrived);
            }
            if asked.elapsed() > PATIENCE {
                return Err(
                    format!("{missing} of {} events did not arrive", measured.len()).into(),
                );
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn close(mut self) -> Result<()> {
        self.receiver.hang(false);
        self.shutdown.start();
        while let Some(ended) = self.runtime.block_on(self.delivering.join_next()) {
            ended?;
        }
        Ok(())
    }
}

/// At a steady rate, even if earlier ones are late.
async fn create_tasks(
    developers: &Developers,
    until: Instant,
) -> std::result::Result<Vec<Committed>, String> {
    let (began, mut creating) = (Instant::now(), JoinSet::new());
    let developers = Arc::new(developers.clone());
    for number in 0.. {
        let at = began + Duration::from_secs(number as u64) / EVENTS_A_SECOND as u32;
        if at >= until {
            break;
        }
        tokio::time::sleep_until(at.into()).await;
        let developers = developers.clone();
        creating.spawn(async move {
            let developer = number % developers.keys.len();
            let task = developers.create_task(developer).await?;
            Ok::<_, String>(Committed {
                developer,
                task: task.to_string(),
                at: Instant::now(),
            })
        });
    }
    let mut all = Vec::new();
    while let Some(created) = creating.join_next().await {
        all.push(created.map_err(text)??);
    }
    Ok(all)
}

fn task_of(arrival: &Arrival) -> Result<String> {
    let body: Value = serde_json::from_slice(&arrival.body)?;
    let id = body["data"]["id"].as_str();
    Ok(id.ok_or("the delivery has no task")?.to_owned())
}
