//! Creating test tasks, compared with the same statements without the server, and with what one
//! would write instead. On PostgreSQL also in one account, whose totals are one row.

use crate::Result;
use crate::limit::peers::Peer;
use crate::limit::pgbench::Pgbench;
use crate::limit::raw_sqlite::RawSqlite;
use crate::limit::{Limit, Named, all_in_turns};
use crate::load::{Load, Sample};
use crate::options::{ACCOUNTS, Options};
use crate::report::{Figure, Report};
use crate::test_bed::{Engine, TestBed};

const LEAST_ON_SQLITE: f64 = 0.7;
const LEAST_ON_POSTGRES: f64 = 0.7;
const LEAST_IN_ONE_ACCOUNT: f64 = 0.6;
/// p99 on SQLite, in microseconds.
const LATEST: f64 = 30_000.0;
/// Of pgbench, when it does what a group commit does.
const BATCH: usize = 16;

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    let mut limits: Vec<Box<dyn Limit>> = match &bed.engine {
        Engine::Sqlite => vec![Box::new(RawSqlite::new(bed)?)],
        Engine::Postgres(_) => vec![
            Box::new(Pgbench::new(bed, "pgbench_1", 1)?),
            Box::new(Pgbench::new(bed, "pgbench_16", BATCH)?),
        ],
    };
    let peer = Peer::start(bed, report)?;
    let load = bed.creations()?;
    let one_account = Load {
        requests: vec![load.requests[0].clone()].into(),
        ..load.clone()
    };
    let mut spread = Contest::new("create task", load);
    let mut single = Contest::new("create task in one account", one_account);
    if let Some(peer) = &peer {
        spread.theirs = Some(peer.creations(ACCOUNTS));
        single.theirs = Some(peer.creations(1));
    }
    let mut all: Vec<&mut dyn Limit> = Vec::new();
    spread.enter(&mut all);
    single.enter(&mut all);
    all.extend(
        limits
            .iter_mut()
            .map(|limit| &mut **limit as &mut dyn Limit),
    );
    let samples = all_in_turns(options, "create task", &mut all)?;
    let names: Vec<_> = all.iter().map(|one| one.name()).collect();
    let each = samples.len() - limits.len();
    let limits: Vec<_> = names
        .into_iter()
        .zip(samples.iter().cloned())
        .skip(each)
        .collect();
    let (of_spread, of_single) = samples[..each].split_at(each / 2);
    let (least, least_single) = match bed.engine {
        Engine::Sqlite => (LEAST_ON_SQLITE, LEAST_ON_SQLITE),
        Engine::Postgres(_) => (LEAST_ON_POSTGRES, LEAST_IN_ONE_ACCOUNT),
    };
    let engine = bed.name();
    let name = format!("{}, {ACCOUNTS} accounts", spread.name);
    report.add(spread.figure(engine, &name, of_spread, &limits, least));
    if matches!(bed.engine, Engine::Sqlite) {
        let late = Figure::late_latency(engine, "create task, p99", &of_spread[0]);
        report.add(late.at_most(LATEST));
    }
    report.add(single.figure(engine, single.name, of_single, &limits, least_single));
    bed.before.create = Some(of_spread[0].clone());
    Ok(())
}

/// The server and what one would write instead, under the same load.
struct Contest {
    name: &'static str,
    own: Named,
    theirs: Option<Named>,
}

impl Contest {
    fn new(name: &'static str, load: Load) -> Self {
        let own = Named {
            name: "Legwork",
            load,
        };
        Self {
            name,
            own,
            theirs: None,
        }
    }

    fn enter<'c>(&'c mut self, all: &mut Vec<&'c mut dyn Limit>) {
        all.push(&mut self.own);
        all.extend(self.theirs.as_mut().map(|theirs| theirs as &mut dyn Limit));
    }

    fn figure(
        &self,
        engine: &'static str,
        name: &str,
        samples: &[Sample],
        limits: &[(String, Sample)],
        least: f64,
    ) -> Figure {
        let mut figure = Figure::throughput(engine, name, &samples[0]);
        for (number, (limit, sample)) in limits.iter().enumerate() {
            figure = match number {
                0 => figure.at_least(least, limit, sample),
                _ => figure.beside(limit, sample),
            };
        }
        match (&self.theirs, samples.get(1)) {
            (Some(theirs), Some(sample)) => figure.beside(theirs.name, sample),
            _ => figure,
        }
    }
}
