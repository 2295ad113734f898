//! Reading one task, compared with the least that the same server can answer, with the HTTP stack
//! alone, and with what one would write instead.

use std::net::SocketAddr;
use std::process::Command;

use crate::Result;
use crate::limit::constant;
use crate::limit::peers::Peer;
use crate::limit::{Limit, Named, all_in_turns};
use crate::load::Load;
use crate::load::http;
use crate::options::Options;
use crate::report::{Figure, Report};
use crate::test_bed::server::Process;
use crate::test_bed::{Engine, TestBed};

const LEAST_ON_SQLITE: f64 = 0.65;
const LEAST_ON_POSTGRES: f64 = 0.3;

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    let peer = Peer::start(bed, report)?;
    let address = bed.server()?.address;
    let requests = own_tasks(bed, address)?;
    let (_, body) = http::fetch(address, &requests[0])?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args([constant::COMMAND, &body]);
    let constant = Process::start(command, constant::GREETING)?;
    let load = bed.load(requests, 200)?;
    let health = vec![http::get("/healthz", &bed.accounts[0].test_key)];
    let mut health = Named {
        name: "/healthz of the same server",
        load: bed.load(health, 200)?,
    };
    let mut alone = Named {
        name: "the HTTP stack with a constant response",
        load: Load {
            address: constant.address,
            pid: constant.pid(),
            ..load.clone()
        },
    };
    let mut theirs = peer.as_ref().map(|peer| peer.gets(&load.requests));
    if let Some(theirs) = &theirs {
        let (_, other) = http::fetch(theirs.load.address, &load.requests[0])?;
        if other != body {
            return Err(format!("{} responds with {other} instead of {body}", theirs.name).into());
        }
    }
    let mut own = Named {
        name: "Legwork",
        load,
    };
    let mut all: Vec<&mut dyn Limit> = vec![&mut own, &mut health, &mut alone];
    all.extend(theirs.as_mut().map(|theirs| theirs as &mut dyn Limit));
    let samples = all_in_turns(options, "get task", &mut all)?;
    let names: Vec<_> = all.iter().map(|one| one.name()).collect();
    let least = match bed.engine {
        Engine::Sqlite => LEAST_ON_SQLITE,
        Engine::Postgres(_) => LEAST_ON_POSTGRES,
    };
    let figure = Figure::throughput(bed.name(), "get one task", &samples[0]);
    let mut figure = figure.at_least(least, &names[1], &samples[1]);
    for (name, sample) in names.iter().zip(&samples).skip(2) {
        figure = figure.beside(name, sample);
    }
    report.add(figure);
    bed.before.get = samples.into_iter().next();
    Ok(())
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
