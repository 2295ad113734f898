//! Load like that of a day: the knee, latency below it, and what happens at three times as much.
//!
//! The knee is the highest of a few rates at which all is served and 99 of 100 requests take no longer
//! than 100 ms from when they were due.

mod open_loop;
mod requests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use open_loop::{Answer, Outcome, Rate, permille};
use requests::{Kind, Mix};
use serde_json::json;

use crate::Result;
use crate::deliver::Receiver;
use crate::load::Sample;
use crate::load::http;
use crate::options::Options;
use crate::report::{Figure, Report};
use crate::test_bed::server::Process;
use crate::test_bed::{TestBed, settled};

/// Connections of the load, most of which wait for something to be due.
const CONNECTIONS: usize = 256;
/// At three times the knee.
const MANY_CONNECTIONS: usize = 1_024;
const LATE_MILLIS: f64 = 100.0;
/// More than can be served.
const EVERYTHING: f64 = 50_000.0;
/// The first rate, of what is served when everything is offered.
const FIRST: f64 = 0.5;
/// Each rate is so much higher than the one before.
const STEP: f64 = 1.15;
/// A server that does not keep up with so few is broken.
const LEAST: f64 = 10.0;
/// Of what is offered.
const SERVED: f64 = 0.98;
const BELOW_THE_KNEE: f64 = 0.7;

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    bed.creations()?.run(options.round())?;
    bed.stop()?;
    let receiver = Receiver::start()?;
    let mut command = settled(&bed.binary, bed.folder.path(), bed.engine.database());
    command.env("LEGWORK_WEBHOOK_CA_FILE", receiver.authority());
    let server = Process::serve(command)?;
    let stage = Stage {
        engine: bed.name(),
        address: server.address,
        length: options.round().max(Duration::from_secs(1)),
    };
    stage.creations(&Arc::new(Mix::of_creations(&bed.accounts)), report)?;
    let url = json!({ "url": receiver.url_here() }).to_string();
    for account in &bed.accounts {
        let post = http::post("/v1/account/webhook", &account.test_key, &url);
        let put = [b"PUT".as_slice(), &post[b"POST".len()..]].concat();
        http::fetch_json(server.address, &put, 200)?;
    }
    let mix = Arc::new(Mix::of_a_day(server.address, &bed.accounts)?);
    let knee = stage.below_the_knee("mixed load", &mix, None, report)?;
    stage.overload(&mix, knee, report)?;
    report.note(&format!(
        "{}: {} webhooks were delivered beside the mixed load.",
        stage.engine,
        receiver.answered()
    ));
    server.stop()
}

struct Stage {
    engine: &'static str,
    address: SocketAddr,
    length: Duration,
}

impl Stage {
    fn creations(&self, mix: &Arc<Mix>, report: &mut Report) -> Result<()> {
        let kind = Some(Kind::Create);
        self.below_the_knee("create", mix, kind, report).map(drop)
    }

    fn run(&self, mix: &Arc<Mix>, per_second: f64, connections: usize) -> Result<Outcome> {
        let rate = Rate {
            per_second,
            connections,
        };
        open_loop::run(self.address, mix, rate, self.length)
    }

    /// The latency at 70 % of the knee. Returns the knee.
    fn below_the_knee(
        &self,
        name: &str,
        mix: &Arc<Mix>,
        kind: Option<Kind>,
        report: &mut Report,
    ) -> Result<f64> {
        let knee = self.knee(name, mix)?;
        let figure = Figure::throughput(
            self.engine,
            &format!("{name}: knee"),
            &Sample::of_rate(knee),
        );
        report.add(figure);
        let outcome = self.run(mix, knee * BELOW_THE_KNEE, CONNECTIONS)?;
        let name = format!("{name} at 70 % of the knee");
        report.note(&self.describe(&name, &outcome, kind));
        let micros = outcome.since_due(Answer::Served, kind);
        let sample = Sample::of_micros(micros, outcome.window);
        report.add(Figure::late_latency(self.engine, &name, &sample));
        Ok(knee)
    }

    fn knee(&self, name: &str, mix: &Arc<Mix>) -> Result<f64> {
        let everything = self.run(mix, EVERYTHING, CONNECTIONS)?;
        let mut rate = FIRST * everything.per_second(Answer::Served);
        let (mut knee, mut missed) = (None, 0);
        // One bad step may be a disturbance.
        while knee.is_none() || missed < 2 {
            let outcome = self.run(mix, rate, CONNECTIONS)?;
            let late = permille(&outcome.since_due(Answer::Served, None), 990);
            let served = outcome.per_second(Answer::Served) / rate;
            eprintln!(
                "bench: {name}: {rate:.0}/s offered, {:.1} % served, p99 {late:.1} ms",
                100.0 * served
            );
            if served >= SERVED && late <= LATE_MILLIS {
                (knee, missed) = (Some(rate), 0);
            } else {
                missed += 1;
            }
            rate *= if knee.is_some() { STEP } else { FIRST };
            if rate < LEAST {
                return Err(format!("{name}: not even {LEAST}/s are served in time").into());
            }
        }
        Ok(knee.unwrap_or(rate))
    }

    /// Three times the knee, and then again what can be served.
    fn overload(&self, mix: &Arc<Mix>, knee: f64, report: &mut Report) -> Result<()> {
        let outcome = self.run(mix, 3.0 * knee, MANY_CONNECTIONS)?;
        let after = self.run(mix, knee * BELOW_THE_KNEE, CONNECTIONS)?;
        let name = "mixed load at 3 times the knee";
        report.note(&self.describe(name, &outcome, None));
        report.note(&self.describe("mixed load at 70 % of the knee, right after", &after, None));
        let served = Sample::of_rate(outcome.per_second(Answer::Served));
        let figure = Figure::throughput(self.engine, &format!("{name}: served"), &served);
        report.add(figure.at_least(0.7, "the knee", &Sample::of_rate(knee)));
        if outcome.count(Answer::Refused) > 0 {
            let micros = outcome.since_sent(Answer::Refused);
            let sample = Sample::of_micros(micros, outcome.window);
            let name = format!("{name}: time to a 503");
            let figure = Figure::late_latency(self.engine, &name, &sample);
            report.add(figure.at_most(LATE_MILLIS * 1_000.0));
        }
        Ok(())
    }

    fn describe(&self, name: &str, outcome: &Outcome, kind: Option<Kind>) -> String {
        let served = outcome.since_due(Answer::Served, kind);
        let refused = outcome.since_sent(Answer::Refused);
        let times = |micros: &[u32]| {
            let at = |part| permille(micros, part);
            let (p50, p99, p999) = (at(500), at(990), at(999));
            format!("p50 {p50:.1} ms, p99 {p99:.1} ms, p999 {p999:.1} ms")
        };
        let refused = match refused.as_slice() {
            [] => "none refused".to_owned(),
            some => {
                let rate = outcome.per_second(Answer::Refused);
                format!("{rate:.0}/s refused, from when sent {}", times(some))
            }
        };
        format!(
            "{}, {name}: {:.0}/s served, from when due {}; {refused}.",
            self.engine,
            outcome.per_second(Answer::Served),
            times(&served)
        )
    }
}
