//! The figures: what is measured, and what it is compared with.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::fill::{Accounts, Filled};
use crate::limit::{Limit, in_turns};
use crate::load::{Load, Sample};
use crate::options::{CONNECTIONS, Options, ROUNDS};
use crate::pgbench::Pgbench;
use crate::raw_sqlite::RawSqlite;
use crate::report::{Figure, Report, count};
use crate::server::Process;
use crate::test_bed::{Engine, TestBed};
use crate::{Result, constant, http, lifecycle};

/// The server's results on a small database, to compare with later.
#[derive(Default)]
pub struct Before {
    create: Option<Sample>,
    get: Option<Sample>,
}

pub fn small_database(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<Before> {
    let mut before = Before::default();
    if options.wants_any(&["create", "grow"]) {
        before.create = Some(create(options, bed, report)?);
    }
    if options.wants_any(&["get", "grow"]) {
        before.get = Some(get(options, bed, report)?);
    }
    if options.wants("life") {
        lifecycle::measure(options, bed, report)?;
    }
    Ok(before)
}

pub fn full_database(
    options: &Options,
    bed: &mut TestBed,
    accounts: &Accounts,
    before: &Before,
    report: &mut Report,
) -> Result<()> {
    if options.wants("start") {
        start(bed, accounts, report)?;
    }
    if options.wants("list") {
        list(options, bed, accounts, report)?;
    }
    if options.wants_any(&["grow", "memory"]) {
        grow(options, bed, accounts, before, report)?;
    }
    if options.wants("memory") {
        memory(bed, accounts, report)?;
    }
    Ok(())
}

fn create(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<Sample> {
    let (mut limit, target): (Box<dyn Limit>, _) = match &bed.engine {
        Engine::Sqlite => (Box::new(RawSqlite::new(bed)?), 0.5),
        Engine::Postgres(_) => (Box::new(Pgbench::new(bed)?), 0.6),
    };
    let load = bed.creations()?;
    let run = |length| load.run(length);
    let (sample, most) = in_turns(options, "create task", run, limit.as_mut())?;
    let figure = Figure::throughput(bed.name(), "create task", &sample);
    report.add(figure.at_least(target, &limit.name(), &most));
    Ok(sample)
}

fn get(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<Sample> {
    let address = bed.server()?.address;
    let requests = own_tasks(bed, address)?;
    let (_, body) = http::fetch(address, &requests[0])?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args([constant::COMMAND, &body]);
    let constant = Process::start(command, constant::GREETING)?;
    let load = bed.load(requests, 200)?;
    let mut limit = Load {
        address: constant.address,
        pid: constant.pid(),
        requests: Arc::clone(&load.requests),
        ..load
    };
    let run = |length| load.run(length);
    let (sample, most) = in_turns(options, "get task", run, &mut limit)?;
    let figure = Figure::throughput(bed.name(), "get one task", &sample);
    report.add(match bed.engine {
        Engine::Sqlite => figure.at_least(0.5, &limit.name(), &most),
        Engine::Postgres(_) => figure.beside(&limit.name(), &most),
    });
    Ok(sample)
}

/// Requests for the newest tasks of every account.
fn own_tasks(bed: &TestBed, address: SocketAddr) -> Result<Vec<Vec<u8>>> {
    let mut requests = Vec::new();
    for account in &bed.accounts {
        let key = &account.test_key;
        let page = http::fetch_json(address, &http::get("/v1/tasks?limit=100", key), 200)?;
        let tasks = page["data"].as_array().map_or(&[][..], Vec::as_slice);
        let ids = tasks.iter().filter_map(|task| task["id"].as_str());
        requests.extend(ids.map(|id| http::get(&format!("/v1/tasks/{id}"), key)));
    }
    Ok(requests)
}

/// From the start of the process to its first responses, on the full database.
fn start(bed: &mut TestBed, accounts: &Accounts, report: &mut Report) -> Result<()> {
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
fn list(
    options: &Options,
    bed: &mut TestBed,
    accounts: &Accounts,
    report: &mut Report,
) -> Result<()> {
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
        let (mut small, _) = page(server, &accounts.small, filter, deep)?;
        let quick = Duration::from_millis(300).max(options.round() / 3);
        let (mut measured, mut few) = (Sample::default(), Sample::default());
        for _ in 0..ROUNDS {
            few.add(small.round(quick)?);
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
fn grow(
    options: &Options,
    bed: &mut TestBed,
    accounts: &Accounts,
    before: &Before,
    report: &mut Report,
) -> Result<()> {
    const ASKED_FOR: i64 = 20_000;
    let large = &accounts.large;
    let full = count(large.tasks);
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
    let get = (bed.load(gets, 200)?, "get one task", &before.get);
    let create = (bed.creations()?, "create task", &before.create);
    for (load, name, earlier) in [get, create] {
        let mut sample = Sample::default();
        for _ in 0..ROUNDS {
            sample.add(load.run(options.round())?);
        }
        let figure =
            Figure::throughput(bed.name(), &format!("{name}, {full} tasks there"), &sample);
        report.add(match earlier {
            Some(earlier) => figure.beside("the same on a small database", earlier),
            None => figure,
        });
    }
    Ok(())
}

fn memory(bed: &mut TestBed, accounts: &Accounts, report: &mut Report) -> Result<()> {
    const LIMIT: f64 = 150.0;
    let full = count(accounts.large.tasks);
    let (now, most) = bed.server()?.memory()?;
    for (what, bytes) in [("after the load", now), ("at most", most)] {
        let name = format!("memory {what}, {full} tasks, {CONNECTIONS} connections");
        let megabytes = bytes as f64 / 1e6;
        report.add(Figure::megabytes(bed.name(), &name, megabytes).at_most(LIMIT));
    }
    Ok(())
}
