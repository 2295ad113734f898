//! The figures of a large database: how fast the server starts on it, how much memory it needs, what
//! a list costs, and whether it is slower than on a small one.

use std::sync::Arc;
use std::time::Duration;

use crate::Result;
use crate::load::http;
use crate::load::{Load, Sample};
use crate::options::{CONNECTIONS, Options, ROUNDS};
use crate::report::{Figure, Report, count};
use crate::test_bed::fill::filled;
use crate::test_bed::server::Process;
use crate::test_bed::{Accounts, Filled, TestBed};

/// From the start of the process to its first responses, on the full database.
pub fn start(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    let accounts = &filled(options, bed)?;
    const STARTS: usize = 5;
    let key = &accounts.large.account.test_key;
    let page = http::get("/v1/tasks?limit=1", key);
    let mut times = Vec::new();
    for _ in 0..STARTS {
        bed.stop()?;
        let server = bed.server()?;
        let (status, body) = http::fetch(server.address, &http::get("/healthz", key))?;
        if status != 200 {
            return Err(format!("/healthz: {status} {body}").into());
        }
        let healthy = server.spawned.elapsed();
        http::fetch_json(server.address, &page, 200)?;
        times.push((healthy, server.spawned.elapsed()));
    }
    times.sort();
    let (healthy, answered) = times[STARTS / 2];
    let full = count(accounts.large.tasks);
    for (what, took) in [("/healthz", healthy), ("first page of tasks", answered)] {
        let name = format!("start to {what}, {full} tasks");
        report.add(Figure::seconds(bed.name(), &name, took.as_secs_f64()).at_most(0.5));
    }
    Ok(())
}

/// The response time on one connection: what a deep page costs, not the throughput.
pub fn list(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    let accounts = &filled(options, bed)?;
    let engine = bed.name();
    let server = bed.server()?;
    let funded = "status=funded&";
    for (filter, deep, target) in [
        ("", false, Some(2.0)),
        ("", true, Some(2.0)),
        (funded, false, Some(2.0)),
        // Informational: a filtered page is counted off in the index.
        (funded, true, None),
    ] {
        let (large, offset) = page(server, &accounts.large, filter, deep)?;
        let (small, _) = page(server, &accounts.small, filter, deep)?;
        let quick = Duration::from_millis(300).max(options.round() / 3);
        let (mut measured, mut few) = (Sample::default(), Sample::default());
        for _ in 0..ROUNDS {
            few.add(small.run(quick)?);
            measured.add(large.run(quick)?);
        }
        let name = format!(
            "list {filter}offset={} of {} tasks",
            count(offset),
            count(accounts.large.tasks)
        );
        let other = format!("the same page of {} tasks", count(accounts.small.tasks));
        let figure = Figure::latency(engine, &name, &measured);
        report.add(match target {
            Some(times) => figure.at_most_times(times, &other, &few),
            None => figure.beside_latency(&other, &few),
        });
    }
    Ok(())
}

/// A load that requests one page repeatedly, after checking the page. A deep page is behind nine
/// tenths of the tasks.
fn page(server: &Process, filled: &Filled, filter: &str, deep: bool) -> Result<(Load, i64)> {
    let total = if filter.is_empty() {
        filled.tasks
    } else {
        filled.funded()
    };
    let offset = if deep { total * 9 / 10 } else { 0 };
    let path = format!("/v1/tasks?{filter}offset={offset}");
    let request = http::get(&path, &filled.account.test_key);
    let answer = http::fetch_json(server.address, &request, 200)?;
    let listed = answer["data"].as_array().map_or(0, Vec::len);
    if answer["meta"]["total"] != total || listed != 20 {
        let meta = &answer["meta"];
        return Err(
            format!("{path}: {listed} tasks of {total}, but the response says {meta}").into(),
        );
    }
    let load = Load {
        address: server.address,
        connections: 1,
        requests: Arc::new(vec![request]),
        expected: 200,
        pid: server.pid(),
    };
    Ok((load, offset))
}

/// The same loads as before, now with many tasks.
pub fn grow(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    let accounts = &filled(options, bed)?;
    let full = count(accounts.large.tasks);
    let get = (gets(bed, accounts)?, "get one task", bed.before.get.clone());
    let create = (bed.creations()?, "create task", bed.before.create.clone());
    for (load, name, earlier) in [get, create] {
        let mut sample = Sample::default();
        for _ in 0..options.rounds() {
            sample.add(load.run(options.round())?);
        }
        let figure =
            Figure::throughput(bed.name(), &format!("{name}, {full} tasks there"), &sample);
        report.add(match earlier {
            Some(earlier) => figure.beside("the same on a small database", &earlier),
            None => figure,
        });
    }
    Ok(())
}

/// Requests for tasks from all over the large account.
fn gets(bed: &mut TestBed, accounts: &Accounts) -> Result<Load> {
    const ASKED_FOR: i64 = 20_000;
    let large = &accounts.large;
    let key = &large.account.test_key;
    let step = (large.tasks / ASKED_FOR).max(1);
    let numbers = (2..=large.tasks).step_by(step as usize);
    // Neighbours in the request list are far apart in the table.
    let mut paths: Vec<_> = numbers
        .map(|n| format!("/v1/tasks/{}", large.id(n)))
        .collect();
    let middle = paths.len() / 2;
    paths.rotate_left(middle);
    let gets = paths.iter().map(|path| http::get(path, key)).collect();
    bed.load(gets, 200)
}

pub fn memory(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    const LIMIT: f64 = 150.0;
    let accounts = &filled(options, bed)?;
    for load in [gets(bed, accounts)?, bed.creations()?] {
        load.run(options.round())?;
    }
    let full = count(accounts.large.tasks);
    let (now, most) = bed.server()?.memory()?;
    for (what, bytes) in [("after the load", now), ("at most", most)] {
        let name = format!("memory {what}, {full} tasks, {CONNECTIONS} connections");
        let megabytes = bytes as f64 / 1e6;
        report.add(Figure::megabytes(bed.name(), &name, megabytes).at_most(LIMIT));
    }
    Ok(())
}
