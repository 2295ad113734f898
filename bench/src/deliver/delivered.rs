//! Tasks that are created and whose webhooks are delivered at the same time: the rate that both can
//! keep up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use legwork::domain::EventType;
use legwork::webhooks::Webhooks;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::developers::Developers;
use super::receiver::Receiver;
use super::waiting;
use crate::load::{Sample, Window};
use crate::options::{ACCOUNTS, CONNECTIONS, Options};
use crate::report::{Figure, Report};
use crate::service::TestDatabase;
use crate::test_bed::TestBed;
use crate::{Result, progress};

/// Not measured: connections are opened, endpoints are claimed.
const WARM_UP: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_secs(1);
/// Nobody creates while so many are not delivered.
const MOST_WAITING: usize = 1_000;

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    bed.stop()?;
    measure_in(options, bed, ACCOUNTS, report)?;
    measure_in(options, bed, 1, report)
}

fn measure_in(
    options: &Options,
    bed: &TestBed,
    accounts: usize,
    report: &mut Report,
) -> Result<()> {
    let runtime = Runtime::new()?;
    let database = TestDatabase::new(bed, &format!("delivered_{accounts}"))?;
    let receiver = Receiver::start()?;
    let urls: Vec<_> = (0..accounts).map(|number| receiver.url(number)).collect();
    // One event for each task.
    let developers = Developers::create(&runtime, &database, &urls, &[EventType::TaskCreated])?;
    let rate = Rate {
        webhooks: developers.webhooks(receiver.outbound()?),
        created: Arc::default(),
        developers,
        receiver: &receiver,
        runtime: &runtime,
    };
    let name = match accounts {
        1 => "create and deliver, one account".to_owned(),
        many => format!("create and deliver, {many} accounts"),
    };
    let mut sample = Sample::default();
    for round in 1..=options.rounds() {
        sample.add(rate.round(options.round())?);
        progress::say(&format!(
            "{name}, round {round} of {}: {:.0}/s",
            options.rounds(),
            sample.last_rate()
        ));
    }
    let recorded = waiting::count(&database, "delivered")?;
    if recorded != receiver.answered() as i64 {
        let arrived = receiver.answered();
        return Err(format!("{arrived} deliveries arrived, but {recorded} are recorded").into());
    }
    report.add(Figure::throughput(bed.name(), &name, &sample));
    Ok(())
}

struct Rate<'s> {
    developers: Developers,
    webhooks: Webhooks,
    receiver: &'s Receiver,
    runtime: &'s Runtime,
    /// In all rounds so far.
    created: Arc<AtomicUsize>,
}

impl Rate<'_> {
    /// Counts what arrives. What is left is delivered in the next round.
    fn round(&self, length: Duration) -> Result<Sample> {
        let window = Window::after(WARM_UP, length.max(SHORTEST));
        let webhooks = self.webhooks.clone();
        let (delivered, processor, creating) = self.runtime.block_on(async {
            let until = tokio::time::sleep_until(window.until.into());
            let delivering = tokio::spawn(async move { webhooks.run(until).await });
            let (delivered, processor, creating) = tokio::join!(
                self.receiver.answered_within(window),
                window.watch(std::process::id()),
                self.create(window.until)
            );
            delivering.await.map(|()| (delivered, processor, creating))
        })?;
        creating?;
        Ok(Sample::of_answers(delivered, processor?, window))
    }

    async fn create(&self, until: Instant) -> std::result::Result<(), String> {
        let mut creating = JoinSet::new();
        for number in 0..CONNECTIONS {
            let (developers, created) = (self.developers.clone(), self.created.clone());
            let answered = self.receiver.counter();
            creating.spawn(async move {
                let mut developer = number;
                while Instant::now() < until {
                    let waiting = created.load(Ordering::Relaxed);
                    if waiting.saturating_sub(answered()) >= MOST_WAITING {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        continue;
                    }
                    developers
                        .create_task(developer % developers.keys.len())
                        .await?;
                    created.fetch_add(1, Ordering::Relaxed);
                    developer += CONNECTIONS;
                }
                Ok(())
            });
        }
        creating.join_all().await.into_iter().collect()
    }
}
