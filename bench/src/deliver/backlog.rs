//! Deliveries per second, from a backlog that outlasts the measurement. Compared with the same
//! client that posts the same bodies to the same receiver with the same concurrency, but without a
//! database.

use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use legwork::domain::Event;
use legwork::domain::webhooks::delivery::TIME_LIMIT;
use legwork::outbound::{EndpointUrl, Outbound};
use legwork::webhooks::Webhooks;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::developers::Developers;
use super::receiver::Receiver;
use super::waiting::{self, Waiting};
use crate::Result;
use crate::limit::{Limit, in_turns};
use crate::load::{Sample, Window};
use crate::options::{Options, ROUNDS};
use crate::report::count;
use crate::report::{Figure, Report};
use crate::service::TestDatabase;
use crate::test_bed::TestBed;
use crate::watch::text;

/// Not measured: hundreds of connections are opened, endpoints are claimed.
const WARM_UP: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_secs(1);
/// How many deliveries an endpoint gets at once, and how many a process makes at once at most
/// (core/src/webhooks/).
const AT_ONCE: usize = 8;
const MOST_AT_ONCE: usize = 256;
const LEAST_RATIO: f64 = 0.4;

pub fn measure(
    options: &Options,
    bed: &TestBed,
    accounts: usize,
    report: &mut Report,
) -> Result<()> {
    let receiver = Receiver::start()?;
    let runtime = Runtime::new()?;
    let database = TestDatabase::new(bed, &format!("backlog_{accounts}"))?;
    let urls: Vec<_> = (0..accounts).map(|number| receiver.url(number)).collect();
    let developers = Developers::create(&runtime, &database, &urls, &[])?;
    runtime.block_on(developers.create_task(0))?;
    let events = runtime.block_on(developers.events(0, 2))?;
    let mut plain = Plain {
        runtime: &runtime,
        receiver: &receiver,
        outbound: receiver.outbound()?,
        calls: calls(&urls, &events)?,
    };
    // A first round shows how long the backlog has to be.
    let fastest = plain.round(options.round())?.per_second();
    let developers = fill(options, bed, developers, &database, fastest)?;
    let mut backlog = Backlog {
        runtime: &runtime,
        receiver: &receiver,
        database: &database,
        webhooks: developers.webhooks(receiver.outbound()?),
        answered: 0,
    };
    let name = format!("deliver a backlog, accounts: {}", count(accounts as i64));
    let (sample, most) = in_turns(options, &name, |length| backlog.round(length), &mut plain)?;
    let figure = Figure::throughput(bed.name(), &name, &sample);
    report.add(figure.at_least(LEAST_RATIO, &plain.name(), &most));
    Ok(())
}

/// More than could be delivered in all rounds at this rate.
fn fill(
    options: &Options,
    bed: &TestBed,
    developers: Developers,
    database: &TestDatabase,
    fastest: f64,
) -> Result<Developers> {
    const MORE_THAN_ENOUGH: f64 = 1.5;
    let round = WARM_UP + options.round().max(SHORTEST);
    let all = MORE_THAN_ENOUGH * fastest * f64::from(ROUNDS) * round.as_secs_f64();
    let waiting = Waiting {
        pattern: developers.keys[0].owner.account,
        each: 1 + all as i64 / developers.keys.len() as i64,
        data: "e.data",
        due_at: "created_at",
    };
    eprintln!(
        "bench: {}: filling in {all:.0} deliveries of {} accounts",
        bed.name(),
        developers.keys.len()
    );
    developers.away(database, || waiting.fill(database))
}

struct Backlog<'s> {
    runtime: &'s Runtime,
    receiver: &'s Receiver,
    database: &'s TestDatabase,
    webhooks: Webhooks,
    /// In all rounds so far.
    answered: usize,
}

impl Backlog<'_> {
    /// Finishes everything that was started.
    fn round(&mut self, length: Duration) -> Result<Sample> {
        let before = self.receiver.answered();
        let window = Window::after(WARM_UP, length.max(SHORTEST));
        let (webhooks, receiver) = (self.webhooks.clone(), self.receiver);
        let (delivered, processor) = self.runtime.block_on(async {
            let until = tokio::time::sleep_until(window.until.into());
            let delivering = tokio::spawn(async move { webhooks.run(until).await });
            let counts = tokio::join!(
                receiver.answered_within(window),
                window.watch(std::process::id())
            );
            delivering.await.map(|()| counts)
        })?;
        self.answered += self.receiver.answered() - before;
        self.check()?;
        Ok(Sample::of_answers(delivered, processor?, window))
    }

    /// A run in which deliveries were lost or duplicated, or the backlog was too short, gives no
    /// figures.
    fn check(&self) -> Result<()> {
        let delivered = waiting::count(self.database, "delivered")?;
        if delivered != self.answered as i64 {
            let answered = self.answered;
            return Err(
                format!("{answered} deliveries arrived, but {delivered} are recorded").into(),
            );
        }
        if waiting::count(self.database, "pending")? == 0 {
            return Err("the backlog was too short".into());
        }
        Ok(())
    }
}

/// What is posted to one endpoint, round-robin.
#[derive(Clone)]
struct Call {
    url: EndpointUrl,
    headers: HeaderMap,
    bodies: Vec<Bytes>,
}

fn calls(urls: &[String], events: &[Event]) -> Result<Vec<Call>> {
    let body = |event: &Event| {
        let (event_type, data) = (event.event_type, &event.data);
        Bytes::from(format!(r#"{{"event":"{event_type}","data":{data}}}"#))
    };
    let bodies: Vec<_> = events.iter().map(body).collect();
    let call = |url: &String| {
        Ok(Call {
            url: EndpointUrl::RULE.check(url)?,
            headers: headers(&events[0]),
            bodies: bodies.clone(),
        })
    };
    urls.iter().map(call).collect()
}

/// As large as those of a delivery.
fn headers(event: &Event) -> HeaderMap {
    let id = event.id.to_string();
    let seconds = (event.created_at.as_millis() / 1_000).to_string();
    let named = [
        ("content-type", "application/json".to_owned()),
        ("x-service-timestamp", seconds.clone()),
        ("x-service-signature", format!("v1={}", id.repeat(2))),
        ("webhook-id", id.clone()),
        ("webhook-timestamp", seconds),
        ("webhook-signature", format!("v1,{}{}", id, &id[..12])),
    ];
    let header = |(name, value): (&'static str, String)| {
        let value = HeaderValue::from_str(&value).ok()?;
        Some((HeaderName::from_static(name), value))
    };
    named.into_iter().filter_map(header).collect()
}

/// The client alone.
struct Plain<'s> {
    runtime: &'s Runtime,
    receiver: &'s Receiver,
    outbound: Outbound,
    calls: Vec<Call>,
}

impl Plain<'_> {
    fn at_once(&self) -> usize {
        MOST_AT_ONCE.min(AT_ONCE * self.calls.len())
    }
}

impl Limit for Plain<'_> {
    fn name(&self) -> String {
        format!("the client alone, {} at once", self.at_once())
    }

    fn round(&mut self, length: Duration) -> Result<Sample> {
        let window = Window::after(WARM_UP, length.max(SHORTEST));
        let (posted, processor) = self.runtime.block_on(async {
            let mut posting = JoinSet::new();
            for number in 0..self.at_once() {
                let call = self.calls[number % self.calls.len()].clone();
                posting.spawn(post(self.outbound.clone(), call, window));
            }
            let counts = tokio::join!(
                self.receiver.answered_within(window),
                window.watch(std::process::id())
            );
            let ended = posting.join_all().await;
            ended.into_iter().collect::<std::result::Result<(), _>>()?;
            Ok::<_, String>(counts)
        })?;
        Ok(Sample::of_answers(posted, processor?, window))
    }
}

/// One POST after the other until the window closes.
async fn post(outbound: Outbound, call: Call, window: Window) -> std::result::Result<(), String> {
    for body in call.bodies.iter().cycle() {
        if Instant::now() >= window.until {
            break;
        }
        let headers = call.headers.clone();
        let post = outbound.post(&call.url, headers, body.clone(), TIME_LIMIT);
        let answer = post.await.map_err(text)?;
        if answer.status != 200 {
            return Err(format!("the receiver responded with {}", answer.status));
        }
    }
    Ok(())
}
